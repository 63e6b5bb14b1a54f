//! What applications do to be safe without locks: versions that are compared, keys that are taken once.
//! Each idiom is proved, and not proved any more where one of its conditions is missing.

use program::analysis::{Options, analyse};
use program::robust::{Level, RobustOptions, Robustness, check_and_search, check_at};
use program::{JavaFile, read_java, read_sql_file, schema_of};
use std::time::Duration;

const TIME: Option<Duration> = Some(Duration::from_secs(20));

/// The answer; where it is a proof, the search for anomalies, which does not know of it, finds none.
fn answer(text: &str, level: Level) -> Robustness {
    let program = read_sql_file(text, "idiom.sql", None).unwrap_or_else(|error| panic!("{error}"));
    let levels = vec![level; program.transactions.len()];
    let found = check_and_search(&program, &levels, &RobustOptions::default(), TIME);
    if found.is_robust() {
        let options = Options {
            levels: vec![level.store()],
            external: true,
            time: TIME,
            ..Options::default()
        };
        assert_eq!(analyse(&program, &options).anomalies.len(), 0, "{text}");
    }
    found
}

fn is_proved(text: &str, level: Level) -> bool {
    answer(text, level).is_robust()
}

fn is_refuted(text: &str, level: Level) -> bool {
    matches!(answer(text, level), Robustness::NotRobust(_))
}

const DOCUMENTS: &str = "create table doc (id int primary key, version int not null, body int not null, views int not null);";

/// `{set}`, `{where}` and `{check}` of the update; `{more}` transactions.
fn save(set: &str, condition: &str, check: &str, more: &str) -> String {
    format!(
        "{DOCUMENTS}
         transaction save(i int, b int)
           select version, body into :v, :old from doc where id = :i;
           update doc set body = :old + :b, {set} where id = :i {condition};
           {check}
         end;
         {more}"
    )
}

const CHECK: &str = "if row_count = 0 then abort; end if;";

#[test]
fn a_version_that_is_compared_holds_the_row() {
    for set in ["version = version + 1", "version = :v + 1"] {
        let text = save(set, "and version = :v", CHECK, "");
        assert!(is_proved(&text, Level::ReadCommitted), "{set}");
        assert!(is_proved(&text, Level::Snapshot), "{set}");
    }
}

/// The row is looked up by its name, and changed by the number that was found.
#[test]
fn a_version_is_compared_by_another_key_of_the_row() {
    let text = |table: &str, by: &str| {
        format!(
            "{table}
             transaction rename(mail text, n int, other int)
               select id, version into :i, :v from member where email = :mail;
               update member set name = :n, version = version + 1 where id = {by} and version = :v;
               if row_count <> 1 then abort; end if;
             end;
             transaction find(mail text)
               select name into :n from member where email = :mail;
             end;"
        )
    };
    let unique = "create table member (id int primary key, email text not null unique, name int not null, version int not null);";
    assert!(is_proved(&text(unique, ":i"), Level::ReadCommitted));
    assert!(is_proved(&text(unique, ":i"), Level::Snapshot));
    // The version of another row says nothing; nor does that of one of several.
    assert!(!is_proved(&text(unique, ":other"), Level::ReadCommitted));
    let several = unique.replace(" unique", "");
    assert!(!is_proved(&text(&several, ":i"), Level::ReadCommitted));
}

#[test]
fn a_version_that_is_not_compared_holds_nothing() {
    let text = save("version = version + 1", "", CHECK, "");
    assert!(is_refuted(&text, Level::ReadCommitted));
}

#[test]
fn a_version_that_may_come_back_holds_nothing() {
    for set in ["version = :b", "version = 1 - version", "views = views + 1"] {
        let text = save(set, "and version = :v", CHECK, "");
        assert!(!is_proved(&text, Level::ReadCommitted), "{set}");
    }
}

#[test]
fn whoever_changes_the_row_without_a_new_version_is_not_noticed() {
    let edit = "transaction edit(i int, b int)
                  update doc set body = body * 2 where id = :i;
                end;";
    let text = save("version = version + 1", "and version = :v", CHECK, edit);
    assert!(is_refuted(&text, Level::ReadCommitted));
    let versioned = edit.replace("body * 2", "body * 2, version = version + 1");
    let text = save(
        "version = version + 1",
        "and version = :v",
        CHECK,
        &versioned,
    );
    assert!(is_proved(&text, Level::ReadCommitted));
}

#[test]
fn a_lost_race_that_is_not_looked_at_goes_on() {
    let log = "insert into done values (:i, :old);";
    let text = save("version = version + 1", "and version = :v", log, "");
    let text = text.replace(
        DOCUMENTS,
        &format!("{DOCUMENTS} create table done (id int primary key, body int not null);"),
    );
    assert!(!is_proved(&text, Level::ReadCommitted));
}

const READER: &str = "transaction find(k text)
                        select qty into :q from item where name = :k;
                      end;";

/// An item is added unless it is there.
fn add(table: &str, insert: &str, more: &str) -> String {
    format!(
        "{table}
         transaction add(n text, q int)
           select qty into :old from item where name = :n;
           if not found then
             {insert};
           end if;
         end;
         {more}"
    )
}

const BY_KEY: &str = "create table item (name text primary key, qty int not null);";
const UNIQUE: &str =
    "create table item (id serial primary key, name text not null unique, qty int not null);";
const PLAIN: &str =
    "create table item (id serial primary key, name text not null, qty int not null);";
const INSERT: &str = "insert into item (name, qty) values (:n, :q)";

#[test]
fn a_key_that_was_looked_up_is_taken_once() {
    for table in [BY_KEY, UNIQUE] {
        for more in ["", READER] {
            let text = add(table, INSERT, more);
            assert!(is_proved(&text, Level::ReadCommitted), "{text}");
            assert!(is_proved(&text, Level::Snapshot), "{text}");
        }
    }
}

#[test]
fn a_name_that_is_no_key_is_taken_twice() {
    let text = add(PLAIN, INSERT, "");
    assert!(is_refuted(&text, Level::ReadCommitted));
    assert!(is_refuted(&text, Level::Snapshot));
}

#[test]
fn a_key_that_others_free_again_is_not_taken_once() {
    let remove = "transaction remove(k text)
                    delete from item where name = :k;
                  end;";
    let text = add(BY_KEY, INSERT, remove);
    assert!(!is_proved(&text, Level::ReadCommitted));
}

#[test]
fn an_insert_that_gives_way_refuses_nobody() {
    let text = add(
        BY_KEY,
        &format!("{INSERT} on conflict (name) do nothing"),
        "",
    );
    assert!(!is_proved(&text, Level::ReadCommitted));
    let other = "transaction put(n text, q int)
                   insert into item (name, qty) values (:n, :q)
                     on conflict (name) do update set qty = item.qty + :q;
                 end;";
    let text = add(BY_KEY, INSERT, other);
    assert!(!is_proved(&text, Level::ReadCommitted));
}

/// The same in Java: what is bound to a statement is not the same variable twice.
#[test]
fn java_that_compares_versions_is_proved() {
    let dao = |update: &str, check: &str| {
        format!(
            r#"
import java.sql.*;
public class Items {{
  public void sell(Connection c, long id, int n) throws SQLException {{
    c.setAutoCommit(false);
    int version;
    int stock;
    try (PreparedStatement ps = c.prepareStatement("select version, stock from item where id = ?")) {{
      ps.setLong(1, id);
      try (ResultSet rs = ps.executeQuery()) {{
        if (!rs.next()) throw new IllegalStateException("no item");
        version = rs.getInt("version");
        stock = rs.getInt(2);
      }}
    }}
    try (PreparedStatement ps = c.prepareStatement("{update}")) {{
      ps.setInt(1, stock - n);
      ps.setInt(2, version + 1);
      ps.setLong(3, id);
      ps.setInt(4, version);
      {check}
    }}
    c.commit();
  }}
}}
"#
        )
    };
    let is_proved = |java: String| {
        let ddl =
            "create table item (id bigint primary key, stock int not null, version int not null);";
        let (schema, _) = schema_of(ddl, "item.sql").unwrap_or_else(|error| panic!("{error}"));
        let file = JavaFile {
            name: "Items.java",
            text: &java,
        };
        let program = read_java(&[file], &schema).unwrap_or_else(|error| panic!("{error}"));
        check_at(&program, Level::ReadCommitted, &RobustOptions::default()).is_robust()
    };
    let update = "update item set stock = ?, version = ? where id = ? and version = ?";
    let check = r#"if (ps.executeUpdate() != 1) throw new SQLException("stale");"#;
    assert!(is_proved(dao(update, check)));
    assert!(!is_proved(dao(update, "ps.executeUpdate();")));
    let older = "update item set stock = ?, version = ? where id = ? and version <= ?";
    assert!(!is_proved(dao(older, check)));
}
