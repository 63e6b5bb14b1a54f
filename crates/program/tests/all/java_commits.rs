//! Methods that commit in the middle, in a loop and in a branch: each piece is a transaction.

use program::{Bounds, JavaFile, NoteKind, Program, read_java, schema_of};

fn read(body: &str) -> Program {
    let tables = "create table item (id int primary key, stock int not null);
                  create table done (id int primary key);";
    let (schema, _) = schema_of(tables, "item.sql").expect("tables");
    let text = format!(
        "class Items {{
            private Connection conn;
            private void take(int key) throws SQLException {{
                PreparedStatement stmt = conn.prepareStatement(\"update item set stock = stock - 1 where id = ?\");
                stmt.setInt(1, key);
                stmt.executeUpdate();
            }}
            private void note(int key) throws SQLException {{
                PreparedStatement stmt = conn.prepareStatement(\"insert into done values (?)\");
                stmt.setInt(1, key);
                stmt.executeUpdate();
            }}
            public void work(int[] keys, int last, boolean careful) throws SQLException {{
                conn.setAutoCommit(false);
                {body}
            }}
        }}"
    );
    let name = "Items.java";
    match read_java(&[JavaFile { name, text: &text }], &schema) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

/// The transactions with the tables that their paths write, at most one iteration of a loop.
fn pieces(program: &Program) -> Vec<String> {
    let mut found = Vec::new();
    for transaction in &program.transactions {
        let mut paths: Vec<String> = Vec::new();
        for path in transaction.paths(&program.schema, Bounds::default()).paths {
            let tables = path.statements.iter().map(|one| {
                let part = one.parts.last().expect("a part");
                program.schema.table(part.table).name.as_str()
            });
            let line = tables.collect::<Vec<_>>().join(" ");
            if !line.is_empty() && !paths.contains(&line) {
                paths.push(line);
            }
        }
        paths.sort();
        found.push(format!("{}: {}", transaction.name, paths.join(" | ")));
    }
    found
}

fn serious(program: &Program) -> Vec<String> {
    let notes = program.notes.iter();
    let serious = notes.filter(|note| note.kind == NoteKind::Statement);
    serious.map(|note| note.to_string()).collect()
}

#[test]
fn each_iteration_that_commits_is_a_transaction() {
    let program = read("for (int key : keys) { take(key); note(key); conn.commit(); }");
    assert_eq!(pieces(&program), ["work: item done"]);
    assert_eq!(serious(&program), [""; 0]);
}

#[test]
fn what_surrounds_a_loop_goes_with_its_first_and_last_iteration() {
    let program = read(
        "note(last); for (int key : keys) { take(key); conn.commit(); } take(last); conn.commit();",
    );
    assert_eq!(pieces(&program), ["work: done item", "work.2: item"]);
    assert_eq!(serious(&program), [""; 0]);
}

#[test]
fn a_commit_in_a_branch_begins_a_transaction_with_what_follows() {
    let program = read("take(last); if (careful) { conn.commit(); } note(last); conn.commit();");
    assert_eq!(pieces(&program), ["work: item | item done", "work.2: done"]);
    assert_eq!(serious(&program), [""; 0]);
}

/// The rows that drive the loop were read before: not cut, and that is said.
/// What a branch asked before its commit still holds behind it, as far as it assigns nothing of that.
#[test]
fn behind_a_commit_in_a_branch_its_test_still_holds() {
    let behind = |branch: &str| {
        let program = read(&format!(
            "boolean more = last > 5;
             take(last);
             if (!more) {{ {branch} }}
             note(last);
             if (more) {{ take(last + 1); }}
             conn.commit();"
        ));
        assert_eq!(serious(&program), [""; 0]);
        pieces(&program)
    };
    let first = "work: item | item done item";
    assert_eq!(behind("conn.commit();"), [first, "work.2: done"]);
    let assigned = behind("more = careful; conn.commit();");
    assert_eq!(assigned[1], "work.2: done | done item");
    let looked = behind("if (careful) { conn.commit(); }");
    assert_eq!(looked[1], "work.2: done");
}

#[test]
fn a_loop_over_rows_that_commits_is_noted() {
    let program = read(
        "ResultSet rows = conn.prepareStatement(\"select id from item\").executeQuery();
         while (rows.next()) { note(rows.getInt(1)); conn.commit(); }",
    );
    assert_eq!(program.transactions.len(), 1);
    assert_eq!(serious(&program).len(), 1, "{:?}", serious(&program));
}

#[test]
fn a_commit_before_a_return_begins_nothing() {
    let program =
        read("take(last); if (careful) { conn.commit(); return; } note(last); conn.commit();");
    assert_eq!(pieces(&program), ["work: item | item done"]);
    assert_eq!(serious(&program), [""; 0]);
}
