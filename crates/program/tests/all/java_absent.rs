//! Objects that a method finds or does not: null, optionals, and what is done in either case.

use program::analysis::{Kind, Options, analyse};
use program::{Bounds, JavaFile, NoteKind, Program, StoreLevel, read_java, schema_of};

const TABLES: &str = "
create table users (id int primary key, email text not null, name text not null);
";

/// Ways to look for a user, and what is done with one.
const FINDERS: &str = r#"
    private User map(ResultSet rs) throws SQLException {
        User user = new User();
        user.setId(rs.getInt("id"));
        user.setEmail(rs.getString("email"));
        return user;
    }
    private PreparedStatement asked(String email) throws SQLException {
        PreparedStatement ps = conn.prepareStatement("select id, email from users where email = ?");
        ps.setString(1, email);
        return ps;
    }
    User find(String email) throws SQLException {
        try (ResultSet rs = asked(email).executeQuery()) {
            if (rs.next()) {
                return map(rs);
            }
        }
        return null;
    }
    User chosen(String email) throws SQLException {
        ResultSet rs = asked(email).executeQuery();
        return rs.next() ? map(rs) : null;
    }
    Optional<User> held(String email) throws SQLException {
        ResultSet rs = asked(email).executeQuery();
        if (!rs.next()) return Optional.empty();
        return Optional.of(map(rs));
    }
    private void add(int id, String email) throws SQLException {
        PreparedStatement ps = conn.prepareStatement("insert into users (id, email, name) values (?, ?, 'new')");
        ps.setInt(1, id);
        ps.setString(2, email);
        ps.executeUpdate();
    }
    private void rename(int id) throws SQLException {
        PreparedStatement ps = conn.prepareStatement("update users set name = 'old' where id = ?");
        ps.setInt(1, id);
        ps.executeUpdate();
    }
"#;

fn read(methods: &str) -> Program {
    let (schema, _) = schema_of(TABLES, "t.sql").expect("tables");
    let text = format!("class Users {{ private Connection conn;\n{FINDERS}\n{methods} }}");
    let user = "class User { private int id; private String email;
        int getId() { return id; } void setId(int id) { this.id = id; }
        String getEmail() { return email; } void setEmail(String email) { this.email = email; } }";
    let files = [("Users.java", text.as_str()), ("User.java", user)];
    let files = files.map(|(name, text)| JavaFile { name, text });
    let program = read_java(&files, &schema).unwrap_or_else(|error| panic!("{error}"));
    // Not every method here uses all of the statements.
    let fine = [NoteKind::Value, NoteKind::Boundary, NoteKind::Unplaced];
    let missing = |note: &&program::Note| !fine.contains(&note.kind);
    assert_eq!(program.notes.iter().find(missing), None, "{program}");
    program
}

/// What the method executes, on each of its paths.
fn paths(methods: &str) -> Vec<String> {
    let program = read(methods);
    let transaction = program.transaction("run").expect("a transaction");
    let found = transaction.paths(&program.schema, Bounds::default());
    let mut all = Vec::new();
    for path in found.paths {
        let verb = |sql: &str| sql.split_whitespace().next().unwrap_or("").to_string();
        let verbs = path.statements.iter().map(|one| verb(&one.sql));
        let end = (format!("{:?}", path.end) == "Abort").then(|| "abort".to_string());
        let verbs: Vec<String> = verbs.chain(end).collect();
        all.push(verbs.join(", "));
    }
    all.sort();
    all.dedup();
    all
}

const EITHER: [&str; 2] = ["select, insert", "select, update"];

/// A method that returns an object in one place and null in another is the usual way to look something up; it
/// was taken for one that always finds it, so that whoever adds what is not there never did.
#[test]
fn what_a_method_returns_may_be_null() {
    let checked = "@Transactional void run(int id, String email) throws Exception {
        if (find(email) != null) throw new Exception(\"taken\");
        add(id, email); }";
    assert_eq!(paths(checked), ["select, abort", "select, insert"]);
    let forms = [
        "User user = find(email); if (user == null) add(id, email); else rename(user.getId());",
        "User user = chosen(email); if (user == null) add(id, email); else rename(user.getId());",
        "User user = find(email); if (Objects.nonNull(user)) rename(user.getId()); else add(id, email);",
        "User user = again(email); if (user != null) { rename(user.getId()); return; } add(id, email);",
    ];
    for form in forms {
        let again = "private User again(String email) throws SQLException { return find(email); }";
        let method = format!(
            "@Transactional void run(int id, String email) throws Exception {{ {form} }} {again}"
        );
        assert_eq!(paths(&method), EITHER, "{form}");
    }
}

/// Code that is given to an optional runs where it holds something; what is asked to make it is asked first.
#[test]
fn optionals_run_what_they_are_given_where_they_hold_something() {
    let forms: [(&str, &[&str]); 7] = [
        (
            "if (held(email).isPresent()) throw new Exception(); add(id, email);",
            &["select, abort", "select, insert"],
        ),
        (
            "held(email).ifPresentOrElse(user -> rename(user.getId()), () -> add(id, email));",
            &EITHER,
        ),
        (
            "held(email).ifPresent(user -> { throw new IllegalStateException(); }); add(id, email);",
            &["select, abort", "select, insert"],
        ),
        (
            "rename(held(email).map(User::getId).orElseThrow());",
            &["select, abort", "select, update"],
        ),
        (
            "rename(held(email).map(user -> user.getId() + 1).orElse(0));",
            &["select, update"],
        ),
        (
            "User user = Optional.ofNullable(find(email)).orElse(null); if (user == null) add(id, email);",
            &["select", "select, insert"],
        ),
        (
            "Optional<User> user = held(email).filter(one -> one.getId() > 5); if (user.isEmpty()) add(id, email);",
            &["select", "select, insert"],
        ),
    ];
    for (form, expected) in forms {
        let method =
            format!("@Transactional void run(int id, String email) throws Exception {{ {form} }}");
        assert_eq!(paths(&method), expected, "{form}");
    }
}

/// Two that find nothing both add it: the check before the insert keeps nobody out at read committed.
#[test]
fn a_check_before_an_insert_is_found_to_be_no_lock() {
    let program = read(
        "@Transactional void run(int id, String email) throws Exception {
            if (find(email) != null) throw new Exception(\"taken\");
            add(id, email); }",
    );
    let options = Options {
        levels: vec![StoreLevel::ReadCommitted],
        ..Options::default()
    };
    let found = analyse(&program, &options);
    let kinds: Vec<Kind> = found.anomalies.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&Kind::Phantom), "{kinds:?}");
}

/// A row that is changed through its result set is a write that is not followed: it is told, and nothing is proved.
#[test]
fn rows_changed_through_the_result_are_noted_as_left_out() {
    let (schema, _) = schema_of(TABLES, "t.sql").expect("tables");
    let text = r#"class Users { @Transactional void run(Connection conn, int id) throws SQLException {
        PreparedStatement ps = conn.prepareStatement("select id, name from users where id = ?");
        ps.setInt(1, id);
        ResultSet rs = ps.executeQuery();
        if (rs.next()) { rs.updateString("name", "x"); rs.updateRow(); } } }"#;
    let files = [JavaFile {
        name: "Users.java",
        text,
    }];
    let program = read_java(&files, &schema).unwrap_or_else(|error| panic!("{error}"));
    let kinds: Vec<NoteKind> = program.notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::LeftOut], "{program}");
}

/// The first of what a loop gathered is the first row, or none.
#[test]
fn the_first_of_a_list_is_held_or_not() {
    let method = r#"@Transactional void run(int id, String email) throws Exception {
        List<Integer> found = new ArrayList<>();
        ResultSet rs = asked(email).executeQuery();
        while (rs.next()) found.add(rs.getInt("id"));
        var first = found.stream().findFirst();
        if (first.isEmpty()) throw new IllegalStateException();
        rename(first.get()); }"#;
    assert_eq!(paths(method), ["select, abort", "select, update"]);
    let text = read(method).to_string();
    assert!(!text.contains("any"), "{text}");
}
