//! Java with helpers that take any number of arguments, queries in an enum, and numbers as objects.

use program::analysis::{Kind, Options, analyse};
use program::{Bounds, JavaFile, NoteKind, Program, StoreLevel, read_java, schema_of};

const TABLES: &str = "
create table wallet (owner int primary key, coins int not null, state text not null);
create table job (id int primary key, queue text not null, state text not null);
";

fn read(text: &str) -> Program {
    let (schema, _) = schema_of(TABLES, "t.sql").expect("tables");
    let file = JavaFile {
        name: "Dao.java",
        text,
    };
    match read_java(&[file], &schema) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

/// What was understood; nothing may be left out.
fn told(text: &str) -> String {
    let program = read(text);
    let missing = program
        .notes
        .iter()
        .find(|n| !matches!(n.kind, NoteKind::Value | NoteKind::Boundary));
    assert_eq!(missing, None, "{program}");
    program.to_string()
}

fn says(text: &str, wanted: &[&str]) {
    for line in wanted {
        assert!(text.contains(line), "no `{line}` in\n{text}");
    }
}

#[test]
fn arguments_of_any_number_are_set_one_by_one() {
    let told = told(
        r#"class Dao {
            public void pay(Connection c, int from, int to, int amount) throws SQLException {
                run(c, "update wallet set coins = coins - ? where owner = ?", amount, from);
                each(c, "update wallet set coins = coins + ? where owner = ?", amount, to);
                passed(c, "update wallet set state = ? where owner = ?", "paid", from);
            }
            static int run(Connection c, String sql, Object... values) throws SQLException {
                PreparedStatement s = c.prepareStatement(sql);
                for (int i = 0; i < values.length; i++) {
                    s.setObject(i + 1, values[i]);
                }
                return s.executeUpdate();
            }
            static void each(Connection c, String sql, Object... values) throws SQLException {
                PreparedStatement s = c.prepareStatement(sql);
                int i = 1;
                for (Object value : values) s.setObject(i++, value);
                s.executeUpdate();
            }
            static void passed(Connection c, String sql, Object... all) throws SQLException {
                run(c, sql, all);
            }
        }"#,
    );
    says(
        &told,
        &[
            "s1 = update wallet set coins = (coins - ?1) where owner = ?2",
            "s2 = update wallet set coins = (coins + ?1) where owner = ?2",
            "s3 = update wallet set state = ?1 where owner = ?2",
            "?1 := 'paid'",
            "?2 := to",
        ],
    );
}

#[test]
fn queries_of_an_enum_are_known() {
    let told = told(
        r#"class Queue {
            enum Sql {
                FIND("select id from job where queue = ? and state = ?"),
                TAKE("update job set state = 'taken' where id = ?");
                private final String text;
                Sql(String text) { this.text = text; }
                String text() { return text; }
            }
            enum State { READY, TAKEN }
            public void take(Connection c, String queue) throws SQLException {
                PreparedStatement find = c.prepareStatement(Sql.FIND.text);
                find.setString(1, queue);
                find.setString(2, State.READY.name());
                ResultSet r = find.executeQuery();
                if (r.next()) {
                    change(c, Sql.TAKE, r.getInt(1));
                }
            }
            private void change(Connection c, Sql sql, int id) throws SQLException {
                PreparedStatement s = c.prepareStatement(sql.text());
                s.setInt(1, id);
                s.executeUpdate();
            }
        }"#,
    );
    says(
        &told,
        &[
            "select {id} of job where (queue = ?1 and state = ?2)",
            "?2 := 'READY'",
            "update job set state = 'taken' where id = ?1",
        ],
    );
}

#[test]
fn numbers_that_are_objects_are_compared() {
    let told = told(
        r#"class Dao {
            public boolean spend(Connection c, int owner, BigDecimal amount) throws SQLException {
                PreparedStatement s = c.prepareStatement("select coins from wallet where owner = ?");
                s.setInt(1, owner);
                ResultSet r = s.executeQuery();
                BigDecimal coins = r.next() ? r.getBigDecimal(1) : BigDecimal.ZERO;
                if (amount.signum() < 1 || coins.compareTo(amount) == -1) {
                    throw new IllegalStateException();
                }
                PreparedStatement u = c.prepareStatement("update wallet set coins = ? where owner = ?");
                u.setBigDecimal(1, coins.subtract(amount));
                u.setInt(2, owner);
                u.executeUpdate();
                return true;
            }
        }"#,
    );
    says(&told, &["amount <= 0 or coins < amount", ": 0)"]);
}

/// Objects as arguments, and lists of these.
#[test]
fn fields_of_what_is_given_are_chosen() {
    let program = read(
        r#"class Dao {
            record Item(int owner, int coins) {}
            public void pay(Connection c, List<Item> items) throws SQLException {
                for (Item item : items) {
                    one(c, item);
                }
            }
            private void one(Connection c, Item item) throws SQLException {
                PreparedStatement s = c.prepareStatement("select coins from wallet where owner = ?");
                s.setInt(1, item.owner());
                ResultSet r = s.executeQuery();
                if (!r.next() || r.getInt(1) < item.coins()) throw new IllegalStateException();
                PreparedStatement u = c.prepareStatement("update wallet set coins = ? where owner = ?");
                u.setInt(1, r.getInt(1) - item.coins());
                u.setInt(2, item.owner());
                u.executeUpdate();
            }
        }"#,
    );
    let options = Options {
        levels: vec![StoreLevel::ReadCommitted],
        instances: 2,
        bounds: Bounds {
            iterations: 1,
            ..Bounds::default()
        },
        ..Options::default()
    };
    let analysis = analyse(&program, &options);
    assert!(analysis.scope.decided, "{:?}", analysis.counts);
    let kinds: Vec<Kind> = analysis.anomalies.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&Kind::LostUpdate), "{kinds:?}");
}

#[test]
fn a_rollback_to_a_savepoint_is_no_abort() {
    let program = read(
        r#"class Dao {
            public void pay(Connection c, int owner) throws SQLException {
                Savepoint before = c.setSavepoint();
                PreparedStatement s = c.prepareStatement("update wallet set coins = 0 where owner = ?");
                s.setInt(1, owner);
                s.executeUpdate();
                c.rollback(before);
                PreparedStatement t = c.prepareStatement("update wallet set coins = 1 where owner = ?");
                t.setInt(1, owner);
                t.executeUpdate();
            }
        }"#,
    );
    let text = program.to_string();
    says(&text, &["set coins = 0", "set coins = 1", "savepoint"]);
    assert!(!text.contains("abort"), "{text}");
}

/// A helper that opens the transaction, and tries again where the database refused: what it is given was left out, as it
/// does not get to the database itself and has a loop.
#[test]
fn regression_code_given_to_a_helper_that_tries_again() {
    for head in ["for (int attempt = 0; ; attempt++)", "while (true)", "do"] {
        let tail = if head == "do" { "while (true);" } else { "" };
        let text = format!(
            r#"class Dao {{
                interface Work<T> {{ T run(Connection c) throws SQLException; }}
                static <T> T inTransaction(Work<T> work) {{
                    {head} {{
                        try (Connection c = DriverManager.getConnection(url)) {{
                            c.setAutoCommit(false);
                            T result = work.run(c);
                            c.commit();
                            return result;
                        }} catch (SQLException e) {{
                            if (!"40001".equals(e.getSQLState())) throw new RuntimeException(e);
                        }}
                    }} {tail}
                }}
                public static int spend(int owner, int amount) {{
                    return inTransaction(c -> {{
                        PreparedStatement s = c.prepareStatement("select coins from wallet where owner = ?");
                        s.setInt(1, owner);
                        ResultSet rows = s.executeQuery();
                        if (!rows.next() || rows.getInt(1) < amount) return 0;
                        PreparedStatement u = c.prepareStatement("update wallet set coins = ? where owner = ?");
                        u.setInt(1, rows.getInt(1) - amount);
                        u.setInt(2, owner);
                        return u.executeUpdate();
                    }});
                }}
            }}"#
        );
        says(&told(&text), &["spend(owner int, amount int)"]);
        let program = read(&text);
        assert_eq!(program.transactions.len(), 1, "{head}: {program}");
        assert_eq!(
            program.transactions[0].statements().len(),
            2,
            "{head}: {program}"
        );
        let options = Options {
            levels: vec![StoreLevel::ReadCommitted],
            ..Options::default()
        };
        let kinds: Vec<Kind> = analyse(&program, &options)
            .anomalies
            .iter()
            .map(|one| one.kind)
            .collect();
        assert!(kinds.contains(&Kind::LostUpdate), "{head}: {kinds:?}");
    }
}

/// The body of `do … while` stands before the test of its loop: its statements were in no cycle.
#[test]
fn regression_statements_in_a_do_loop_are_searched() {
    let program = read(
        r#"class Dao {
            public void spend(Connection c, int owner, int amount, int times) throws SQLException {
                int i = 0;
                do {
                    PreparedStatement s = c.prepareStatement("select coins from wallet where owner = ?");
                    s.setInt(1, owner);
                    ResultSet rows = s.executeQuery();
                    rows.next();
                    PreparedStatement u = c.prepareStatement("update wallet set coins = ? where owner = ?");
                    u.setInt(1, rows.getInt(1) - amount);
                    u.setInt(2, owner);
                    u.executeUpdate();
                    i++;
                } while (i < times);
            }
        }"#,
    );
    assert_eq!(program.transactions[0].statements().len(), 2, "{program}");
    let options = Options {
        levels: vec![StoreLevel::ReadCommitted],
        ..Options::default()
    };
    let found = analyse(&program, &options).anomalies;
    let lost = found.iter().any(|one| one.kind == Kind::LostUpdate);
    assert!(lost, "{found:?}");
}
