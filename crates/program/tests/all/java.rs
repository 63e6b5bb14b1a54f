//! Java sources, read and printed: both styles, and what is not understood.

use program::{Bounds, End, JavaFile, NoteKind, Program, Schema, read_java, schema_of};

const TABLES: &str = "
create table shelf (id int primary key, room int not null, books int not null);
create table loan (id serial primary key, shelf int references shelf(id), reader text, days int);
create table reader (name text primary key, loans int, debt int);
";

fn schema() -> Schema {
    match schema_of(TABLES, "library.sql") {
        Ok((schema, _)) => schema,
        Err(error) => panic!("{error}"),
    }
}

fn check(sources: &[&str]) -> Program {
    let files: Vec<JavaFile<'_>> = sources
        .iter()
        .map(|text| JavaFile {
            name: "Library.java",
            text,
        })
        .collect();
    match read_java(&files, &schema()) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

/// The program without its tables.
fn printed(program: &Program) -> String {
    let all = program.to_string();
    let at = all.find("\n\n").map_or(0, |at| at + 2);
    all[at..].to_string()
}

fn serious(program: &Program) -> Vec<String> {
    let notes = program.notes.iter();
    let serious = notes.filter(|note| !matches!(note.kind, NoteKind::Value | NoteKind::Boundary));
    serious.map(|note| note.to_string()).collect()
}

const CONSTANTS: &str = r#"
    package library;
    public abstract class Names {
        public static final String SHELF = "shelf";
        public static final String LOAN = "loan";
        public static final int MOST = 3;
    }
"#;

#[test]
fn statements_in_fields_and_a_run_method_are_a_transaction() {
    let borrow = r#"
        package library;
        public class Borrow extends Procedure {
            public final SQLStmt look = new SQLStmt(
                "SELECT books FROM " + Names.SHELF + " WHERE id = ?");
            public final SQLStmt take = new SQLStmt("""
                UPDATE %s SET books = books - 1
                 WHERE id = ?
                """.formatted(Names.SHELF));
            public final SQLStmt lend = new SQLStmt(
                "INSERT INTO " + Names.LOAN + " (shelf, reader, days) VALUES (?, ?, ?)");

            public void run(Connection conn, int shelf, String reader) throws SQLException {
                int books = count(conn, shelf);
                if (books <= 0) {
                    throw new UserAbortException("empty");
                }
                try (PreparedStatement stmt = this.getPreparedStatement(conn, take, shelf)) {
                    stmt.executeUpdate();
                }
                try (PreparedStatement stmt = getPreparedStatement(conn, lend)) {
                    int at = 1;
                    stmt.setInt(at++, shelf);
                    stmt.setString(at++, reader);
                    stmt.setInt(at++, 7 * Names.MOST);
                    stmt.executeUpdate();
                }
            }

            private int count(Connection conn, int id) throws SQLException {
                try (PreparedStatement stmt = this.getPreparedStatement(conn, look)) {
                    stmt.setInt(1, id);
                    try (ResultSet rs = stmt.executeQuery()) {
                        if (!rs.next()) {
                            throw new UserAbortException("no shelf " + id);
                        }
                        return rs.getInt("BOOKS");
                    }
                }
            }
        }
    "#;
    let program = check(&[CONSTANTS, borrow]);
    let expected = "\
Borrow(shelf int, reader text)
  ?1 := shelf
  s1 = select {books} of shelf where id = ?1 -> (books)
  advance s1
  if not (row s1[*])
    abort
  count() := s1[*].books
  books := count()
  if books <= 0
    abort
  ?1 := shelf
  s2 = update shelf set books = (books - 1) where id = ?1
  ?1 := shelf
  ?2 := reader
  ?3 := 21
  s3 = insert loan {shelf = ?1, reader = ?2, days = ?3}
";
    assert_eq!(printed(&program), expected);
    let unfolded = program.transactions[0].paths(&program.schema, Bounds::default());
    let paths = unfolded.paths.iter();
    let ends: Vec<(usize, End)> = paths.map(|p| (p.statements.len(), p.end)).collect();
    assert_eq!(ends, [(1, End::Abort), (1, End::Abort), (3, End::Commit)]);
}

#[test]
fn public_methods_of_a_plain_class_are_transactions() {
    let source = r#"
        public class Library {
            private Connection connection;
            private static final String BY_ROOM = "select id, books from shelf where room = ?";
            public void tidy(int room, int more) throws Exception {
                PreparedStatement stmt = connection.prepareStatement(BY_ROOM);
                stmt.setInt(1, room);
                ResultSet rs = stmt.executeQuery();
                while (rs.next()) {
                    int id = rs.getInt(1);
                    int books = rs.getInt("books");
                    if (books > 10) continue;
                    stmt = connection.prepareStatement("update shelf set books=? where id=?");
                    stmt.setInt(1, books + more);
                    stmt.setInt(2, id);
                    stmt.executeUpdate();
                }
            }
            public void pay(String name) throws Exception { settle(name, 0); }
            public void settle(String name, int left) throws Exception {
                Statement plain = connection.createStatement();
                plain.executeUpdate("update reader set debt = " + left + " where name = '" + name + "'");
                connection.commit();
            }
        }
    "#;
    let program = check(&[source]);
    assert_eq!(serious(&program), Vec::<String>::new());
    let names: Vec<&str> = program
        .transactions
        .iter()
        .map(|txn| txn.name.as_str())
        .collect();
    assert_eq!(names, ["tidy", "pay"]);
    let expected = "\
pay(name text)
  s1 = update reader set debt = 0 where name = name
";
    assert!(printed(&program).contains(expected), "{program}");
    let unfolded = program.transactions[0].paths(&program.schema, Bounds::default());
    let mut lengths: Vec<usize> = unfolded.paths.iter().map(|p| p.statements.len()).collect();
    lengths.sort_unstable();
    // No row; one row, few books or many; two rows.
    assert_eq!(lengths, [1, 1, 1, 2, 2, 2, 3]);
}

#[test]
fn branches_that_choose_a_statement_are_followed_apart() {
    let source = r#"
        public class Find extends Procedure {
            public final SQLStmt byId = new SQLStmt("select books from shelf where id = ?");
            public final SQLStmt byRoom = new SQLStmt("select books from shelf where room = ?");
            public void run(Connection conn, boolean exact, int what) throws SQLException {
                SQLStmt chosen;
                if (exact) { chosen = byId; } else { chosen = byRoom; }
                try (PreparedStatement stmt = getPreparedStatement(conn, chosen, what)) {
                    stmt.executeQuery();
                }
            }
        }
    "#;
    let program = check(&[source]);
    let expected = "\
Find(exact bool, what int)
  if exact = true
    ?1 := what
    s1 = select {books} of shelf where id = ?1 -> (books)
  else
    ?1 := what
    s2 = select {books} of shelf where room = ?1 -> (books)
";
    assert_eq!(printed(&program), expected);
}

#[test]
fn batches_run_when_they_are_executed() {
    let source = r#"
        public class Fill extends Procedure {
            public final SQLStmt add = new SQLStmt("insert into shelf values (?, ?, 0)");
            public final SQLStmt tell = new SQLStmt("update reader set loans = 0");
            public void run(Connection conn, int room, int[] ids) throws SQLException {
                PreparedStatement batch = getPreparedStatement(conn, add);
                for (int id : ids) {
                    batch.setInt(1, id);
                    batch.setInt(2, room);
                    batch.addBatch();
                }
                getPreparedStatement(conn, tell).executeUpdate();
                batch.executeBatch();
            }
        }
    "#;
    let program = check(&[source]);
    let txn = &program.transactions[0];
    let unfolded = txn.paths(&program.schema, Bounds::default());
    let longest = unfolded
        .paths
        .iter()
        .max_by_key(|path| path.statements.len());
    let longest = longest.expect("there are paths");
    let printer = program::Printer::of_path(&program.schema, txn, longest);
    let expected = "  \
  when size(ids) > 0
  when size(ids) > 1
  when not (size(ids) > 2)
  s1 = update reader set loans = 0
  s2 = insert shelf {id = ids[0], room = room, books = 0}
  s3 = insert shelf {id = ids[1], room = room, books = 0}
  commit
";
    assert_eq!(printer.path(longest), expected);
}

#[test]
fn what_is_not_understood_is_noted() {
    let source = r#"
        public class Odd extends Procedure {
            public final SQLStmt look = new SQLStmt("select books from shelf where id = ?");
            public void run(Connection conn, int id, String column) throws SQLException {
                PreparedStatement one = conn.prepareStatement("select " + column + " from shelf");
                one.executeQuery();
                PreparedStatement two = getPreparedStatement(conn, look);
                ResultSet rs = two.executeQuery();
                rs.next();
                int books = rs.getInt("bookz");
                Elsewhere.change(conn, books);
                PreparedStatement three = conn.prepareStatement("update shelve set books = 1");
                three.executeUpdate();
                PreparedStatement four = conn.prepareStatement("update shelf set bokks = 1");
                four.executeUpdate();
            }
        }
    "#;
    let program = check(&[source]);
    let notes = serious(&program);
    let expected = [
        "Library.java:5:41: `conn.prepareStatement(\"select \" + column + \" from shelf\")`: a part of the SQL is not known: read as `select * from shelf`",
        "Library.java:8:32: `two.executeQuery()`: placeholder 1 is never set",
        "Library.java:10:29: `rs.getInt(\"bookz\")`: the statement has no such column",
        "Library.java:11:17: `Elsewhere.change(conn, books)`: what it does to the database is left out",
        "Library.java:13:17: `three.executeUpdate()`: the statement is left out: no table shelve",
        "Library.java:15:17: `update shelf set bokks = 1`: no column bokks in shelf",
    ];
    assert_eq!(notes.len(), expected.len(), "{notes:#?}");
    for (note, expected) in notes.iter().zip(expected) {
        assert!(note.starts_with(expected), "{note}");
    }
}

#[test]
fn methods_of_other_classes_are_followed_and_are_no_transactions() {
    let desk = r#"
        public class Desk {
            private final Shelves shelves = new Shelves();
            private DataSource source;
            public void move(int from, int to) throws SQLException {
                try (Connection conn = source.getConnection()) {
                    conn.setAutoCommit(false);
                    conn.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
                    int had = shelves.count(conn, from);
                    if (had < 1) {
                        conn.rollback();
                        return;
                    }
                    shelves.add(conn, from, -1);
                    shelves.add(conn, to, 1);
                    conn.commit();
                }
            }
        }
    "#;
    let shelves = r#"
        public class Shelves {
            private PreparedStatement adding = null;
            public int count(Connection conn, int id) throws SQLException {
                PreparedStatement stmt = conn.prepareStatement("select books from shelf where id = ?");
                stmt.setInt(1, id);
                ResultSet rs = stmt.executeQuery();
                return rs.next() ? rs.getInt(1) : 0;
            }
            public void add(Connection conn, int id, int more) throws SQLException {
                if (adding == null) {
                    adding = conn.prepareStatement("update shelf set books = books + ? where id = ?");
                }
                adding.setInt(1, more);
                adding.setInt(2, id);
                adding.executeUpdate();
            }
        }
    "#;
    let program = check(&[desk, shelves]);
    assert_eq!(serious(&program), Vec::<String>::new());
    let expected = "\
move(from int, to int)
  ?1 := from
  s1 = select {books} of shelf where id = ?1 -> (books)
  advance s1
  count() := (row s1[*] ? s1[*].books : 0)
  had := count()
  if had < 1
    abort
  ?1 := -1
  ?2 := from
  s2 = update shelf set books = (books + ?1) where id = ?2
  ?1 := 1
  ?2 := to
  s3 = update shelf set books = (books + ?1) where id = ?2
";
    assert_eq!(printed(&program), expected);
    let level = program.transactions[0].level.as_deref();
    assert_eq!(level, Some("repeatable read"));
}

#[test]
fn what_follows_a_commit_is_another_transaction() {
    let source = r#"
        public class Twice {
            Connection c;
            public void both(int id, boolean early) throws SQLException {
                if (id < 0) { return; }
                PreparedStatement one = c.prepareStatement("update shelf set books = 0 where id = ?");
                one.setInt(1, id);
                one.executeUpdate();
                c.commit();
                if (early) { return; }
                PreparedStatement two = c.prepareStatement("delete from shelf where id = ?");
                two.setInt(1, id);
                two.executeUpdate();
                c.commit();
            }
        }
    "#;
    let program = check(&[source]);
    assert_eq!(serious(&program), Vec::<String>::new());
    let names: Vec<&str> = program
        .transactions
        .iter()
        .map(|txn| txn.name.as_str())
        .collect();
    assert_eq!(names, ["both", "both.2"]);
    let counts = program
        .transactions
        .iter()
        .map(|txn| txn.statements().len());
    assert_eq!(counts.collect::<Vec<usize>>(), [1, 1]);
}

#[test]
fn objects_keep_their_fields_through_branches_and_lists() {
    let source = r#"
        public class Fine extends Procedure {
            public final SQLStmt all = new SQLStmt("select name, debt from reader where loans > ?");
            public final SQLStmt one = new SQLStmt("select name, debt from reader where name = ?");
            public final SQLStmt set = new SQLStmt("update reader set debt = ? where name = ?");
            public void run(Connection conn, String name, int loans) throws SQLException {
                Reader r;
                if (name == null) { r = first(conn, loans); } else { r = byName(conn, name); }
                r.debt += 5;
                getPreparedStatement(conn, set, r.debt, r.name).executeUpdate();
            }
            private Reader first(Connection conn, int loans) throws SQLException {
                List<Reader> found = new ArrayList<>();
                ResultSet rs = getPreparedStatement(conn, all, loans).executeQuery();
                while (rs.next()) { found.add(read(rs)); }
                if (found.isEmpty()) throw new UserAbortException("none");
                return found.get(found.size() / 2);
            }
            private Reader byName(Connection conn, String name) throws SQLException {
                ResultSet rs = getPreparedStatement(conn, one, name).executeQuery();
                if (!rs.next()) throw new UserAbortException("none");
                return read(rs);
            }
            private Reader read(ResultSet rs) throws SQLException {
                Reader r = new Reader();
                r.name = rs.getString("name");
                r.debt = rs.getInt("debt");
                return r;
            }
        }
    "#;
    let program = check(&[source]);
    let txn = &program.transactions[0];
    let mut updates = Vec::new();
    for path in txn.paths(&program.schema, Bounds::default()).paths {
        if let Some(last) = path.statements.last().filter(|last| last.is_write()) {
            let printer = program::Printer::of_path(&program.schema, txn, &path);
            updates.push(printer.statement(last));
        }
    }
    let expected = [
        "s2 = update reader set debt = (s1[0].debt + 5) where name = s1[0].name",
        "s2 = update reader set debt = (s1[1].debt + 5) where name = s1[1].name",
        "s2 = update reader set debt = (s1[0].debt + 5) where name = s1[0].name",
    ];
    assert_eq!(updates, expected, "{program}");
}

#[test]
fn odd_sources_do_not_crash() {
    let deep = format!(
        "class A {{ void f() {{ int x = {}1{}; }} }}",
        "(".repeat(5000),
        ")".repeat(5000)
    );
    let long = format!(
        "public class A {{ Connection c; public void f() throws Exception {{ c.prepareStatement({}).execute(); }} }}",
        vec!["\"a\""; 200].join(" + ")
    );
    let again = "public class A { Connection c; public void f() throws Exception { g(); } \
                 void g() throws Exception { f(); c.createStatement().execute(\"select 1\"); } }";
    for text in [
        "",
        "class",
        "{{{{",
        "public class A { public void f( {",
        &deep,
        &long,
        again,
    ] {
        let files = [JavaFile {
            name: "A.java",
            text,
        }];
        let _ = read_java(&files, &schema());
    }
}

#[test]
fn a_file_with_sql_that_is_no_java_is_refused_with_its_line() {
    let text = "public class A {\n  public void f(Connection c) throws Exception {\n    \
                PreparedStatement p = c.prepareStatement(\"select 1\";\n    p.execute();\n  }\n}\n";
    let files = [JavaFile {
        name: "A.java",
        text,
    }];
    let error = read_java(&files, &schema()).expect_err("no Java");
    assert_eq!(
        (error.place.line, &*error.place.file),
        (3, "A.java"),
        "{error}"
    );
}

#[test]
fn an_optional_is_what_it_holds() {
    let source = |end: &str| {
        format!(
            r#"class Shelves {{
                Optional<Integer> find(Connection c, int room) throws SQLException {{
                    PreparedStatement q = c.prepareStatement("select id from shelf where room = ?");
                    q.setInt(1, room);
                    ResultSet r = q.executeQuery();
                    if (!r.next()) return Optional.empty();
                    return Optional.of(r.getInt("id"));
                }}
                void clear(Connection c, int room) throws SQLException {{
                    Optional<Integer> found = find(c, room);
                    {end}
                    PreparedStatement u = c.prepareStatement("update shelf set books = 0 where id = ?");
                    u.setInt(1, id);
                    u.executeUpdate();
                }}
            }}"#
        )
    };
    let ends = [
        "if (found.isEmpty()) throw new RuntimeException(); int id = found.get();",
        "if (!found.isPresent()) throw new RuntimeException(); int id = found.get();",
        "int id = found.orElseThrow(() -> new RuntimeException());",
    ];
    for end in ends {
        let program = check(&[&source(end)]);
        assert_eq!(program.notes, Vec::new(), "{end}");
        let paths = program.transactions[0].paths(&program.schema, Bounds::default());
        let commits = paths.paths.iter().filter(|path| path.end == End::Commit);
        let commits: Vec<_> = commits.collect();
        assert_eq!(commits.len(), 1, "{end}: {program}");
        let filter = format!("{:?}", commits[0].statements[1].parts[0].filter);
        let field = "Field { statement: StatementId(0), row: Nth(0), output: 0 }";
        assert!(filter.contains(field), "{end}: {filter}");
    }
    // Without a row it is the other value, and the transaction goes on.
    let program = check(&[&source("int id = found.orElse(7);")]);
    let paths = program.transactions[0].paths(&program.schema, Bounds::default());
    let ends: Vec<End> = paths.paths.iter().map(|path| path.end).collect();
    assert!(ends.iter().all(|end| *end == End::Commit), "{program}");
}
