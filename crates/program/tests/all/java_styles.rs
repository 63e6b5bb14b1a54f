//! Java in the styles that people write: helpers across classes, texts put together, code that is
//! handed over, and choices in odd places. What is read is compared with what the Java says.

use program::{Bounds, JavaFile, NoteKind, Program, read_java, schema_of};

const TABLES: &str = "
create table stock (item int primary key, amount int not null, price int not null);
create table orders (id serial primary key, buyer int not null, item int not null, amount int not null);
create table wallet (owner int primary key, coins int not null, version int not null);
create table audit (id serial primary key, what text);
";

fn read(sources: &[&str]) -> Program {
    let (schema, _) = schema_of(TABLES, "shop.sql").expect("tables");
    let files: Vec<JavaFile<'_>> = sources
        .iter()
        .map(|text| JavaFile {
            name: "Shop.java",
            text,
        })
        .collect();
    match read_java(&files, &schema) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

/// The statements of each path of a transaction that commits, as `kind table`.
fn paths(program: &Program, name: &str) -> Vec<String> {
    let Some(transaction) = program.transaction(name) else {
        let names: Vec<&str> = program
            .transactions
            .iter()
            .map(|txn| txn.name.as_str())
            .collect();
        panic!("no {name} in {names:?}");
    };
    let found = transaction.paths(&program.schema, Bounds::default());
    let mut all: Vec<String> = Vec::new();
    for path in found.paths {
        let end = format!("{:?}", path.end);
        let statements = path.statements.iter().map(|statement| {
            let kind = statement.sql.split_whitespace().next().unwrap_or("");
            let part = statement.parts.last();
            let table = part.map_or("", |part| program.schema.table(part.table).name.as_str());
            format!("{} {table}", kind.to_lowercase())
        });
        let mut line: Vec<String> = statements.collect();
        if end == "Abort" {
            line.push("abort".to_string());
        }
        all.push(line.join(", "));
    }
    all.sort();
    all.dedup();
    all
}

fn serious(program: &Program) -> Vec<String> {
    let notes = program.notes.iter();
    let serious = notes.filter(|note| !matches!(note.kind, NoteKind::Value | NoteKind::Boundary));
    serious.map(|note| note.to_string()).collect()
}

fn body(program: &Program, name: &str) -> String {
    let all = program.to_string();
    let start = format!("\n{name}(");
    let at = all.find(&start).unwrap_or(0);
    let rest = &all[at + 1..];
    rest[..rest.find("\n\n").unwrap_or(rest.len())].to_string()
}

const NONE: [&str; 0] = [];

/// Repositories with the same methods: which one is meant, their types tell.
#[test]
fn methods_are_found_by_the_type_of_their_object() {
    let service = r#"
        public class Checkout {
            private final StockRepository stock;
            private final WalletRepository wallets;
            public Checkout(StockRepository stock, WalletRepository wallets) {
                this.stock = stock;
                this.wallets = wallets;
            }
            public void buy(Connection conn, int buyer, int item) throws SQLException {
                int price = stock.find(conn, item);
                int coins = wallets.find(conn, buyer);
                if (coins < price) { throw new IllegalStateException("poor"); }
                wallets.change(conn, buyer, -price);
                stock.change(conn, item, -1);
            }
        }
    "#;
    let stock = r#"
        class StockRepository {
            int find(Connection c, int item) throws SQLException {
                try (var ps = c.prepareStatement("select price from stock where item = ?")) {
                    ps.setInt(1, item);
                    try (var rs = ps.executeQuery()) { rs.next(); return rs.getInt(1); }
                }
            }
            void change(Connection c, int item, int by) throws SQLException {
                try (var ps = c.prepareStatement("update stock set amount = amount + ? where item = ?")) {
                    ps.setInt(1, by); ps.setInt(2, item); ps.executeUpdate();
                }
            }
        }
    "#;
    let wallet = r#"
        class WalletRepository {
            int find(Connection c, int owner) throws SQLException {
                try (var ps = c.prepareStatement("select coins from wallet where owner = ?")) {
                    ps.setInt(1, owner);
                    try (var rs = ps.executeQuery()) { rs.next(); return rs.getInt("coins"); }
                }
            }
            void change(Connection c, int owner, int by) throws SQLException {
                try (var ps = c.prepareStatement("update wallet set coins = coins + ? where owner = ?")) {
                    ps.setInt(1, by); ps.setInt(2, owner); ps.executeUpdate();
                }
            }
        }
    "#;
    let program = read(&[service, stock, wallet]);
    assert_eq!(serious(&program), NONE);
    let found = paths(&program, "buy");
    assert_eq!(
        found,
        [
            "select stock, select wallet, abort",
            "select stock, select wallet, update wallet, update stock",
        ]
    );
}

/// An object that nothing is known of: the call is named, not dropped.
#[test]
fn a_call_that_may_mean_several_methods_is_named() {
    let one = r#"
        class A { void put(int x) { try (var ps = c.prepareStatement("delete from stock where item = ?")) {
            ps.setInt(1, x); ps.executeUpdate(); } } Connection c; }
    "#;
    let two = r#"
        class B { void put(int x) { try (var ps = c.prepareStatement("delete from orders where id = ?")) {
            ps.setInt(1, x); ps.executeUpdate(); } } Connection c; }
    "#;
    let user = r#"
        public class User {
            public void go(Locator where, Connection conn, int x) throws SQLException {
                conn.prepareStatement("select * from stock").executeQuery();
                where.lookup("it").put(x);
            }
        }
    "#;
    let program = read(&[one, two, user]);
    let notes = serious(&program);
    assert!(
        notes.iter().any(|note| note.contains("(A, B)")),
        "{notes:?}"
    );
}

/// Constants in interfaces of the same name, chosen by what a class implements.
#[test]
fn constants_come_from_the_interfaces_of_a_class() {
    let sources = r#"
        interface StockSql { String FIND = "select amount from stock where item = ?"; }
        interface WalletSql { String FIND = "select coins from wallet where owner = ?"; }
        public class Reader implements WalletSql {
            public int coins(Connection conn, int owner) throws SQLException {
                try (PreparedStatement ps = conn.prepareStatement(FIND)) {
                    ps.setInt(1, owner);
                    ResultSet rs = ps.executeQuery();
                    return rs.next() ? rs.getInt(1) : 0;
                }
            }
        }
    "#;
    let program = read(&[sources]);
    assert_eq!(serious(&program), NONE);
    assert_eq!(paths(&program, "coins"), ["select wallet"]);
}

/// Lists of placeholders put together in a loop, by a join, and by repeating.
#[test]
fn lists_of_placeholders_are_lists_of_any_length() {
    let sources = r#"
        public class Prices {
            public int byLoop(Connection conn, List<Integer> items) throws SQLException {
                StringBuilder sql = new StringBuilder("select sum(price) from stock where item in (");
                for (int i = 0; i < items.size(); i++) {
                    if (i > 0) { sql.append(", "); }
                    sql.append("?");
                }
                sql.append(")");
                try (PreparedStatement ps = conn.prepareStatement(sql.toString())) {
                    for (int i = 0; i < items.size(); i++) { ps.setInt(i + 1, items.get(i)); }
                    ResultSet rs = ps.executeQuery();
                    rs.next();
                    return rs.getInt(1);
                }
            }
            public int byJoin(Connection conn, int buyer, List<Integer> items) throws SQLException {
                String marks = String.join(",", Collections.nCopies(items.size(), "?"));
                String sql = "select count(*) from orders where buyer = ? and item in (" + marks + ")";
                try (PreparedStatement ps = conn.prepareStatement(sql)) {
                    ps.setInt(1, buyer);
                    int at = 2;
                    for (int item : items) { ps.setInt(at++, item); }
                    ResultSet rs = ps.executeQuery();
                    rs.next();
                    return rs.getInt(1);
                }
            }
            public void byRepeat(Connection conn, List<Integer> items) throws SQLException {
                var sql = "delete from stock where item in (%s)".formatted("?,".repeat(items.size() - 1) + "?");
                try (PreparedStatement ps = conn.prepareStatement(sql)) {
                    int at = 0;
                    for (Integer item : items) { ps.setInt(++at, item); }
                    ps.executeUpdate();
                }
            }
        }
    "#;
    let program = read(&[sources]);
    assert_eq!(serious(&program), NONE);
    assert_eq!(paths(&program, "byLoop"), ["select stock"]);
    assert_eq!(paths(&program, "byJoin"), ["select orders"]);
    assert_eq!(paths(&program, "byRepeat"), ["delete stock"]);
    let join = body(&program, "byJoin");
    assert!(join.contains("buyer = ?1"), "{join}");
    assert!(join.contains("item in"), "{join}");
}

/// A text that is chosen by a condition: the statement is followed once for each.
#[test]
fn texts_chosen_by_a_condition_are_followed_apart() {
    let sources = r#"
        public class Locks {
            public int coins(Connection conn, int owner, boolean lock) throws SQLException {
                String sql = "select coins from wallet where owner = ?" + (lock ? " for update" : "");
                try (PreparedStatement ps = conn.prepareStatement(sql)) {
                    ps.setInt(1, owner);
                    try (ResultSet rs = ps.executeQuery()) { rs.next(); return rs.getInt(1); }
                }
            }
            public void which(Connection conn, int id, boolean wallet) throws SQLException {
                try (PreparedStatement ps = conn.prepareStatement(wallet
                        ? "delete from wallet where owner = ?" : "delete from stock where item = ?")) {
                    ps.setInt(1, id);
                    ps.executeUpdate();
                }
            }
        }
    "#;
    let program = read(&[sources]);
    assert_eq!(serious(&program), NONE);
    let coins = body(&program, "coins");
    assert_eq!(coins.matches("for update").count(), 1, "{coins}");
    assert_eq!(coins.matches("select {coins}").count(), 2, "{coins}");
    assert_eq!(paths(&program, "which"), ["delete stock", "delete wallet"]);
}

/// What one side of a choice executes is executed there only.
#[test]
fn what_is_not_evaluated_is_not_executed() {
    let sources = r#"
        public class Lazy {
            public int either(Connection conn, int id, boolean wallet) throws SQLException {
                return wallet ? coins(conn, id) : price(conn, id);
            }
            public void both(Connection conn, int id, boolean really) throws SQLException {
                if (really && coins(conn, id) > 10) { take(conn, id); }
            }
            private int coins(Connection conn, int id) throws SQLException {
                PreparedStatement ps = conn.prepareStatement("select coins from wallet where owner = ?");
                ps.setInt(1, id);
                ResultSet rs = ps.executeQuery();
                rs.next();
                return rs.getInt(1);
            }
            private int price(Connection conn, int id) throws SQLException {
                PreparedStatement ps = conn.prepareStatement("select price from stock where item = ?");
                ps.setInt(1, id);
                ResultSet rs = ps.executeQuery();
                rs.next();
                return rs.getInt(1);
            }
            private void take(Connection conn, int id) throws SQLException {
                PreparedStatement ps = conn.prepareStatement("update wallet set coins = 0 where owner = ?");
                ps.setInt(1, id);
                ps.executeUpdate();
            }
        }
    "#;
    let program = read(&[sources]);
    assert_eq!(serious(&program), NONE);
    assert_eq!(paths(&program, "either"), ["select stock", "select wallet"]);
    let both = paths(&program, "both");
    assert_eq!(both, ["", "select wallet", "select wallet, update wallet"]);
}

/// A switch that falls through, and one that prepares different statements.
#[test]
fn switches_fall_through_and_choose_statements() {
    let sources = r#"
        public class Cases {
            public void fall(Connection conn, int kind, int id) throws SQLException {
                switch (kind) {
                    case 1:
                        run(conn, "delete from orders where id = ?", id);
                    case 2:
                        run(conn, "delete from stock where item = ?", id);
                        break;
                    default:
                        run(conn, "delete from wallet where owner = ?", id);
                }
            }
            public void choose(Connection conn, int kind, int id) throws SQLException {
                PreparedStatement ps;
                switch (kind) {
                    case 1: ps = conn.prepareStatement("delete from orders where id = ?"); break;
                    case 2: ps = conn.prepareStatement("delete from stock where item = ?"); break;
                    default: throw new IllegalArgumentException();
                }
                ps.setInt(1, id);
                ps.executeUpdate();
            }
            private void run(Connection conn, String sql, int id) throws SQLException {
                try (PreparedStatement ps = conn.prepareStatement(sql)) {
                    ps.setInt(1, id);
                    ps.executeUpdate();
                }
            }
        }
    "#;
    let program = read(&[sources]);
    assert_eq!(serious(&program), NONE);
    assert_eq!(
        paths(&program, "fall"),
        [
            "delete orders, delete stock",
            "delete stock",
            "delete wallet"
        ]
    );
    assert_eq!(
        paths(&program, "choose"),
        ["abort", "delete orders", "delete stock"]
    );
}

/// Code that is handed over: to a method of the sources, to a library's, and for each element.
#[test]
fn code_that_is_handed_over_runs_where_it_is_called() {
    let sources = r#"
        public class Handing {
            private DataSource source;
            private TransactionTemplate template;
            interface Work<T> { T run(Connection conn) throws SQLException; }

            private <T> T inTransaction(Work<T> work) throws SQLException {
                try (Connection conn = source.getConnection()) {
                    conn.setAutoCommit(false);
                    try {
                        T result = work.run(conn);
                        conn.commit();
                        return result;
                    } catch (SQLException e) {
                        conn.rollback();
                        throw e;
                    }
                }
            }
            public void pay(int owner, int coins) throws SQLException {
                inTransaction(conn -> {
                    try (PreparedStatement ps = conn.prepareStatement("update wallet set coins = coins - ? where owner = ?")) {
                        ps.setInt(1, coins);
                        ps.setInt(2, owner);
                        return ps.executeUpdate();
                    }
                });
            }
            public void audit(String what) {
                template.execute(status -> {
                    jdbcTemplate.update("insert into audit (what) values (?)", what);
                    return null;
                });
            }
            public void clear(Connection conn, List<Integer> items) {
                items.forEach(item -> remove(conn, item));
            }
            private void remove(Connection conn, int item) {
                try (PreparedStatement ps = conn.prepareStatement("delete from stock where item = ?")) {
                    ps.setInt(1, item);
                    ps.executeUpdate();
                }
            }
        }
    "#;
    let program = read(&[sources]);
    assert_eq!(serious(&program), NONE);
    assert_eq!(paths(&program, "pay"), ["update wallet"]);
    assert_eq!(paths(&program, "audit"), ["insert audit"]);
    assert_eq!(
        paths(&program, "clear"),
        ["", "delete stock", "delete stock, delete stock"]
    );
}

/// A retry loop around a transaction, which commits inside of it and returns.
#[test]
fn a_retry_loop_is_one_transaction() {
    let sources = r#"
        public class Retry {
            private final DataSource source;
            public void spend(int owner, int coins) throws SQLException {
                for (int attempt = 0; attempt < 5; attempt++) {
                    try (Connection conn = source.getConnection()) {
                        conn.setAutoCommit(false);
                        conn.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                        try (PreparedStatement ps = conn.prepareStatement(
                                "update wallet set coins = coins - ? where owner = ? and coins >= ?")) {
                            ps.setInt(1, coins);
                            ps.setInt(2, owner);
                            ps.setInt(3, coins);
                            if (ps.executeUpdate() != 1) { conn.rollback(); return; }
                        }
                        conn.commit();
                        return;
                    } catch (SQLException e) {
                        if (!"40001".equals(e.getSQLState())) { throw e; }
                    }
                }
            }
        }
    "#;
    let program = read(&[sources]);
    assert_eq!(serious(&program), NONE);
    let spend = program.transaction("spend");
    let level = spend.and_then(|txn| txn.level.clone());
    assert_eq!(level.as_deref(), Some("serializable"));
    let found = paths(&program, "spend");
    assert!(found.contains(&"update wallet".to_string()), "{found:?}");
    assert!(
        found.contains(&"update wallet, abort".to_string()),
        "{found:?}"
    );
}

/// The handler of an error does something else instead.
#[test]
fn a_handler_runs_instead_of_what_failed() {
    let sources = r#"
        public class Upsert {
            public void save(Connection conn, int owner) throws SQLException {
                try (PreparedStatement ps = conn.prepareStatement("insert into wallet values (?, 0, 0)")) {
                    ps.setInt(1, owner);
                    ps.executeUpdate();
                } catch (SQLIntegrityConstraintViolationException e) {
                    try (PreparedStatement ps = conn.prepareStatement("update wallet set coins = 0 where owner = ?")) {
                        ps.setInt(1, owner);
                        ps.executeUpdate();
                    }
                }
            }
        }
    "#;
    let program = read(&[sources]);
    let found = paths(&program, "save");
    assert_eq!(found, ["insert wallet", "update wallet"]);
}

/// Records, generated keys, batches, text blocks, labelled loops, statements prepared once.
#[test]
fn records_keys_batches_and_labels() {
    let sources = r#"
        public class Orders {
            record Line(int item, int amount) {}
            private static final String LINE = """
                insert into orders (buyer, item, amount)
                values (?, ?, ?)
                """;
            private final Connection conn;
            private final PreparedStatement take;

            Orders(Connection conn) throws SQLException {
                this.conn = conn;
                this.take = conn.prepareStatement("update stock set amount = amount - ? where item = ?");
            }

            public void place(int buyer, Line first, int[] wanted) throws SQLException {
                try (var ps = conn.prepareStatement(LINE, Statement.RETURN_GENERATED_KEYS)) {
                    ps.setInt(1, buyer);
                    ps.setInt(2, first.item());
                    ps.setInt(3, first.amount());
                    ps.executeUpdate();
                    try (var keys = ps.getGeneratedKeys()) {
                        if (keys.next()) { note("order " + keys.getLong(1)); }
                    }
                }
                take.setInt(1, first.amount());
                take.setInt(2, first.item());
                take.executeUpdate();
                all:
                for (int item : wanted) {
                    for (int other : wanted) {
                        if (other == buyer) { continue all; }
                    }
                    take.setInt(1, 1);
                    take.setInt(2, item);
                    take.addBatch();
                }
                take.executeBatch();
            }
            private void note(String what) throws SQLException {
                var line = new Line(1, 2);
                try (var ps = conn.prepareStatement("insert into audit (what) values (?)")) {
                    ps.setString(1, what + line.item());
                    ps.executeUpdate();
                }
            }
        }
    "#;
    let program = read(&[sources]);
    assert_eq!(serious(&program), NONE);
    let found = paths(&program, "place");
    let plain = "insert orders, insert audit, update stock".to_string();
    assert!(found.contains(&plain), "{found:?}");
    assert!(
        found.contains(&format!("{plain}, update stock")),
        "{found:?}"
    );
    let place = body(&program, "place");
    assert!(place.contains("field_item(first)"), "{place}");
}

/// Procedures that inherit what they run, and differ in what they say.
#[test]
fn procedures_run_what_they_inherit() {
    let sources = r#"
        public abstract class Query extends Procedure {
            protected abstract SQLStmt text();
            public void run(Connection conn) throws SQLException {
                try (PreparedStatement ps = getPreparedStatement(conn, text())) { ps.executeQuery(); }
            }
        }
        public class Cheap extends Query {
            public final SQLStmt stmt = new SQLStmt("select item from stock where price < 3");
            protected SQLStmt text() { return stmt; }
        }
        public class Rich extends Query {
            public final SQLStmt stmt = new SQLStmt("select owner from wallet where coins > 100");
            protected SQLStmt text() { return stmt; }
        }
    "#;
    let program = read(&[sources]);
    assert_eq!(serious(&program), NONE);
    assert_eq!(paths(&program, "Cheap"), ["select stock"]);
    assert_eq!(paths(&program, "Rich"), ["select wallet"]);
    assert_eq!(program.transactions.len(), 2);
}

/// What cannot be read is named with its place.
#[test]
fn what_is_left_out_is_named() {
    let sources = r#"
        public class Odd {
            public void dynamic(Connection conn, String column, int id) throws SQLException {
                PreparedStatement ps = conn.prepareStatement("select " + column + " from stock where item = ?");
                ps.setInt(1, id);
                ps.executeQuery();
            }
            public void after(Connection conn, int id) throws SQLException {
                PreparedStatement ps = conn.prepareStatement("update stock set amount = 0 where item = ?");
                ps.setInt(1, id);
                if (ps.executeUpdate() == 0) {
                    conn.rollback();
                    conn.prepareStatement("insert into audit (what) values ('none')").executeUpdate();
                }
            }
        }
    "#;
    let program = read(&[sources]);
    let notes = serious(&program);
    let has = |text: &str| notes.iter().any(|note| note.contains(text));
    assert!(
        has("a part of the SQL is not known: read as `select * from stock"),
        "{notes:?}"
    );
    assert!(has("what follows a rollback is left out"), "{notes:?}");
    assert!(
        notes.iter().all(|note| note.starts_with("Shop.java:")),
        "{notes:?}"
    );
    let dynamic = body(&program, "dynamic");
    assert!(dynamic.contains("price"), "{dynamic}");
}
