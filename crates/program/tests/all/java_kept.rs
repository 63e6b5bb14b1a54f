//! Statements that are prepared once and kept for all transactions, as benchmarks do: in the fields of a class for the
//! connection, in an array, in a map; and the methods that choose among transactions.

use program::{JavaFile, NoteKind, Program, read_java, schema_of};

const TABLES: &str = "create table stock (item int primary key, amount int not null);
create table audit (id int primary key, what int);";

/// A class that keeps its statements in fields, an array and a map.
const KEEPER: &str = r#"
public class Keeper {
    private final Connection conn;
    public PreparedStatement look;
    public PreparedStatement chosen;
    private final PreparedStatement[] all = new PreparedStatement[2];
    private final Map<String, PreparedStatement> named = new HashMap<>();
    public Keeper(Connection conn, int database) throws SQLException {
        this.conn = conn;
        look = conn.prepareStatement("select amount from stock where item = ?");
        all[0] = prepared("update stock set amount = ? where item = ?");
        all[1] = prepared("insert into audit (id, what) values (?, ?)");
        named.put("drop", conn.prepareStatement("delete from stock where item = ?"));
        if (database == 1) {
            chosen = conn.prepareStatement("delete from audit where id = ?");
        } else {
            chosen = conn.prepareStatement("delete from audit where id = ? and what = 0");
        }
    }
    private PreparedStatement prepared(String sql) throws SQLException { return conn.prepareStatement(sql); }
    public PreparedStatement statement(int at) { return all[at]; }
    public PreparedStatement named(String name) { return named.get(name); }
    public void commit() throws SQLException { conn.commit(); }
    public void rollback() throws SQLException { conn.rollback(); }
    void close() throws SQLException { look.close(); look = null; all[0] = null; }
}"#;

fn read(sources: &[&str]) -> Program {
    let (schema, _) = schema_of(TABLES, "tables.sql").expect("tables");
    let files = sources.iter().map(|text| JavaFile {
        name: "Shop.java",
        text,
    });
    let files: Vec<JavaFile<'_>> = files.collect();
    read_java(&files, &schema).unwrap_or_else(|error| panic!("{error}"))
}

/// The statements of a transaction, each as its first word and its table.
fn statements(program: &Program, name: &str) -> Vec<String> {
    let found = program.transaction(name);
    let transaction = found.unwrap_or_else(|| panic!("no {name} in {:?}", names(program)));
    let word = |sql: &str| sql.split_whitespace().next().unwrap_or("").to_string();
    let all = transaction.statements().into_iter();
    all.map(|statement| {
        let table = statement.parts.last().map(|part| part.table);
        let table = table.map_or("", |table| program.schema.table(table).name.as_str());
        format!("{} {table}", word(&statement.sql))
    })
    .collect()
}

fn names(program: &Program) -> Vec<&str> {
    let all = program.transactions.iter();
    all.map(|transaction| transaction.name.as_str()).collect()
}

fn left_out(program: &Program) -> Vec<String> {
    let notes = program.notes.iter();
    let notes = notes.filter(|note| note.kind == NoteKind::LeftOut);
    notes.map(|note| note.assumed.clone()).collect()
}

#[test]
fn statements_of_another_class_are_found() {
    let shop = r#"
public class Shop {
    private Keeper db;
    public void sell(int item) throws SQLException {
        PreparedStatement stmt = db.look;
        stmt.setInt(1, item);
        ResultSet rows = stmt.executeQuery();
        if (!rows.next()) { db.rollback(); return; }
        int left = rows.getInt(1);
        db.statement(0).setInt(1, left - 1);
        db.statement(0).setInt(2, item);
        db.statement(0).executeUpdate();
        stmt = db.named("drop");
        stmt.setInt(1, item + 1);
        stmt.executeUpdate();
        db.commit();
    }
}"#;
    let program = read(&[KEEPER, shop]);
    assert_eq!(left_out(&program), Vec::<String>::new());
    let expected = ["select stock", "update stock", "delete stock"];
    assert_eq!(statements(&program, "sell"), expected);
    assert_eq!(names(&program), ["sell"]);
}

#[test]
fn a_kept_batch_is_empty_before_the_transaction_wherever_it_is_first_used() {
    let shop = r#"
public class Shop {
    private Keeper db;
    public void note(int[] ids) throws SQLException {
        for (int id : ids) {
            db.statement(1).setInt(1, id);
            db.statement(1).setInt(2, 7);
            db.statement(1).addBatch();
        }
        db.statement(1).executeBatch();
        db.commit();
    }
}"#;
    let program = read(&[KEEPER, shop]);
    assert_eq!(left_out(&program), Vec::<String>::new());
    let text = program.to_string();
    let (before, rest) = text.split_once("for each").expect("a loop");
    let (inside, _) = rest.split_once("while").expect("the batch");
    assert!(before.contains("batch1 := []"), "{text}");
    assert!(inside.contains("push ?1 to batch1"), "{text}");
    assert!(!inside.contains("batch1 := []"), "{text}");
}

#[test]
fn of_several_texts_the_first_counts_and_that_is_said() {
    let shop = r#"
public class Shop {
    private Keeper db;
    public void forget(int id) throws SQLException {
        db.chosen.setInt(1, id);
        db.chosen.executeUpdate();
        db.commit();
    }
}"#;
    let program = read(&[KEEPER, shop]);
    assert_eq!(statements(&program, "forget"), ["delete audit"]);
    let told = |note: &program::Note| note.assumed.contains("one of several texts");
    assert!(program.notes.iter().any(told), "{:?}", program.notes);
}

/// A field that methods prepare one after the other is none that is kept.
#[test]
fn a_field_that_every_method_prepares_is_what_it_prepared() {
    let shop = r#"
public class Shop {
    private Connection conn;
    private PreparedStatement ps;
    public void one(int item) throws SQLException {
        ps = conn.prepareStatement("update stock set amount = 0 where item = ?");
        ps.setInt(1, item);
        ps.executeUpdate();
    }
    public void two(int id) throws SQLException {
        ps = conn.prepareStatement("delete from audit where id = ?");
        ps.setInt(1, id);
        ps.executeUpdate();
    }
}"#;
    let program = read(&[shop]);
    assert_eq!(statements(&program, "one"), ["update stock"]);
    assert_eq!(statements(&program, "two"), ["delete audit"]);
}

/// The loop of a terminal is no transaction: those it chooses among are.
#[test]
fn methods_that_commit_by_themselves_are_transactions_whoever_calls_them() {
    let work = r#"
public class Work {
    private Keeper db;
    private ExecutorService pool;
    public void run(int count) throws SQLException {
        for (int i = 0; i < count; i++) {
            pool.execute(null);
            execute(i);
        }
    }
    void execute(int kind) throws SQLException {
        if (kind == 0) { executeSale(kind); } else { forget(kind); }
    }
    private void executeSale(int item) throws SQLException {
        db.look.setInt(1, item);
        db.look.executeQuery();
        db.commit();
    }
    private void forget(int id) throws SQLException {
        db.chosen.setInt(1, id);
        db.chosen.executeUpdate();
        db.commit();
    }
}"#;
    let program = read(&[KEEPER, work]);
    assert_eq!(names(&program), ["executeSale", "forget"]);
    assert_eq!(statements(&program, "executeSale"), ["select stock"]);
}

/// Who names the transactions asks about these: what is left out of others does not count.
#[test]
fn what_is_left_out_of_others_does_not_count_where_transactions_are_named() {
    let shop = r#"
public class Shop {
    private Keeper db;
    public void look(int item) throws SQLException {
        db.look.setInt(1, item);
        db.look.executeQuery();
        db.commit();
    }
    public void guess(Connection conn, String sql) throws SQLException {
        conn.prepareStatement(sql).executeUpdate();
        conn.commit();
    }
}"#;
    let program = read(&[KEEPER, shop]);
    // What is guessed, and what the keeper prepares and nobody here executes.
    assert_eq!(program.left_out(), 2);
    for (name, missing) in [("look", 0), ("guess", 1)] {
        let mut named = program.clone();
        named.keep(&[name.to_string()]);
        assert_eq!((names(&named), named.left_out()), (vec![name], missing));
    }
}

/// One method prepares for all databases: the plain text counts, wherever it stands.
#[test]
fn one_method_may_prepare_in_several_ways() {
    let text = "
        class Seats {
            private PreparedStatement find;
            private Connection con;
            public void init(int kind) throws SQLException {
                if (kind == 1) {
                    find = con.prepareStatement(\"select stock from item with (updlock) where id = ?\");
                } else {
                    find = con.prepareStatement(\"select stock from item where id = ? for update\");
                }
            }
            public int look(int id) throws SQLException {
                find.setInt(1, id);
                ResultSet rows = find.executeQuery();
                rows.next();
                return rows.getInt(1);
            }
        }";
    let (schema, _) = program::schema_of(
        "create table item (id int primary key, stock int not null);",
        "item.sql",
    )
    .expect("tables");
    let name = "Seats.java";
    let program = program::read_java(&[program::JavaFile { name, text }], &schema);
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let statements = program.transactions.iter().flat_map(|one| one.statements());
    let texts: Vec<&str> = statements.map(|one| one.sql.as_str()).collect();
    assert_eq!(texts, ["select stock from item where id = ? for update"]);
}
