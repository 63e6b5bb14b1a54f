//! Files of several kinds together.

use program::analysis::{Kind, Options, analyse};
use program::{SourceFile, read_sources};

const TABLES: &str = "create table seat (id int primary key, taken int);";

fn names(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
    let files: Vec<SourceFile<'_>> = files
        .iter()
        .map(|(name, text)| SourceFile { name, text })
        .collect();
    let program = read_sources(&files).map_err(|error| error.to_string())?;
    Ok(program
        .transactions
        .into_iter()
        .map(|txn| txn.name)
        .collect())
}

#[test]
fn all_share_the_tables() {
    let sql = "transaction take(id int) update seat set taken = 1 where id = :id; end;";
    let java = "public class Hall { JdbcTemplate jdbcTemplate; public int look(int id) { \
                return jdbcTemplate.queryForObject(\"select taken from seat where id = ?\", \
                Integer.class, id); } }";
    let log = "2024 [7] LOG:  statement: delete from seat where id = 3\n";
    let files = [
        ("take.sql", sql),
        ("tables.sql", TABLES),
        ("Hall.java", java),
        ("db.log", log),
    ];
    let expected = ["take", "delete_seat", "look"].map(str::to_string);
    assert_eq!(names(&files), Ok(expected.to_vec()));
}

#[test]
fn what_is_missing_is_said() {
    let java = "public class Hall { }";
    let error = names(&[("Hall.java", java)]).unwrap_err();
    assert!(error.contains("the tables are not known"), "{error}");
    let error = names(&[("tables.sql", TABLES)]).unwrap_err();
    assert!(error.contains("no transaction in the files"), "{error}");
    let error = names(&[("tables.sql", TABLES), ("Hall.java", java)]).unwrap_err();
    assert!(error.contains("no transaction found"), "{error}");
    let error = names(&[("tables.sql", "create table t (a int")]).unwrap_err();
    assert!(error.starts_with("tables.sql:1:"), "{error}");
}

/// Without a value for `id` every insert fails, and nothing after it is ever reached.
#[test]
fn a_key_that_an_insert_leaves_out_is_numbered_and_that_is_said() {
    let text = "
create table counter (id int primary key, n int not null);
create table log (id int not null, kind text not null, at timestamp not null, n int, primary key (id));

transaction step()
  select n into :n from counter where id = 1;
  insert into log(n) values (:n);
  update counter set n = :n + 1 where id = 1;
end;";
    let program = read_sources(&[SourceFile {
        name: "log.sql",
        text,
    }])
    .unwrap();
    let notes: Vec<String> = program.notes.iter().map(ToString::to_string).collect();
    let taken = "taken for: id (a number of the database), kind (''), at ('1970-01-01 00:00:00');";
    assert!(notes.len() == 1 && notes[0].contains(taken), "{notes:?}");
    let found = analyse(&program, &Options::default());
    let lost = found
        .anomalies
        .iter()
        .find(|one| one.kind == Kind::LostUpdate);
    assert!(lost.is_some() && found.scope.decided, "{notes:?}");
}

/// Benchmarks have one file of tables for each database: the first counts, whatever the others say.
#[test]
fn of_files_with_the_same_tables_the_first_counts() {
    let java = "public class Hall { JdbcTemplate jdbcTemplate; public int look(int id) { \
                return jdbcTemplate.queryForObject(\"select taken from seat where id = ?\", \
                Integer.class, id); } }";
    let files = [
        ("seats-postgres.sql", TABLES),
        (
            "seats-other.sql",
            "CREATE TABLE \"SEAT\" (id number(9), odd,);",
        ),
        ("Hall.java", java),
    ];
    let files = files.map(|(name, text)| SourceFile { name, text });
    let program = read_sources(&files).expect("a program");
    assert_eq!(program.schema.tables.len(), 1);
    let notes: Vec<String> = program.notes.iter().map(ToString::to_string).collect();
    let passed_over = "seats-other.sql:1:1: `create table seat`: passed over: seats-postgres.sql";
    assert!(
        notes.iter().any(|note| note.starts_with(passed_over)),
        "{notes:?}"
    );
}

#[test]
fn a_view_is_its_query() {
    let tables = "create table seat (id int primary key, taken int not null);
                  create view free (number, state) as select id, taken from seat where taken = 0;
                  create view few as select number from free where number < 10;";
    let through = "transaction take(id int)
                     select number into :n from few where number = :id;
                     if found then update seat set taken = taken + 1 where id = :id; end if;
                   end;";
    let plain = "transaction take(id int)
                   select id into :n from seat where taken = 0 and id < 10 and id = :id;
                   if found then update seat set taken = taken + 1 where id = :id; end if;
                 end;";
    let kinds = |text: &str| {
        let files = [("tables.sql", tables), ("take.sql", text)]
            .map(|(name, text)| SourceFile { name, text });
        let program = match read_sources(&files) {
            Ok(program) => program,
            Err(error) => panic!("{error}"),
        };
        let options = Options {
            external: true,
            ..Options::default()
        };
        let found = analyse(&program, &options).anomalies;
        found.into_iter().map(|one| one.kind).collect::<Vec<Kind>>()
    };
    assert_eq!(kinds(through), kinds(plain));
    assert!(!kinds(through).is_empty());
}

#[test]
fn a_view_of_itself_and_an_unknown_table_are_errors() {
    let text = "create table seat (id int primary key);
                create view round as select id from round;
                transaction look(id int) select id from round where id = :id; end;";
    let error = names(&[("look.sql", text)]).unwrap_err();
    assert!(error.contains("deep"), "{error}");
    let text = "create table seat (id int primary key);
                transaction look(id int) select id from seats2 where id = :id; end;";
    let error = names(&[("look.sql", text)]).unwrap_err();
    assert!(error.contains("no table seats2"), "{error}");
}

#[test]
fn a_misspelled_create_table_is_named() {
    let take = "transaction take(id int) update seat set taken = 1 where id = :id; end;";
    let files = [
        (
            "tables.sql",
            "create tabel seat (id int primary key, taken int);",
        ),
        ("take.sql", take),
    ];
    let error = names(&files).unwrap_err();
    assert!(error.contains("tables.sql:1"), "{error}");
}

/// The files of a directory are in no order: keys may be added before the table is declared.
#[test]
fn keys_may_come_before_their_table() {
    let keys = "alter table seat add constraint hall_key foreign key (hall) references hall (id);
                create unique index seat_number on seat (hall, number);
                alter table nowhere add column x int;";
    let tables = "create table hall (id int primary key);
                  create table seat (id int primary key, hall int, number int);";
    let take = "transaction take(id int) update seat set number = 1 where id = :id; end;";
    let files = [("a.sql", keys), ("b.sql", tables), ("take.sql", take)];
    let files = files.map(|(name, text)| SourceFile { name, text });
    let program = read_sources(&files).unwrap_or_else(|error| panic!("{error}"));
    let seat = &program.schema.tables[1];
    assert_eq!((seat.foreign_keys.len(), seat.unique.len()), (1, 1));
    let told: Vec<&str> = program
        .notes
        .iter()
        .map(|note| note.assumed.as_str())
        .collect();
    assert_eq!(told, ["left out: no such table"]);
}

/// Without a file of tables, those count that the application makes itself.
#[test]
fn an_application_may_make_its_tables() {
    let java = "public class Hall {
        static final String SEATS = \"seat\";
        static final String MAKE = \"CREATE TABLE IF NOT EXISTS \" + SEATS + \" (id int primary key,\"
            + \" taken int not null)\";
        Connection con;
        public void make() throws SQLException { con.createStatement().execute(MAKE); }
        public void take(int id) throws SQLException {
            PreparedStatement take = con.prepareStatement(\"update seat set taken = 1 where id = ?\");
            take.setInt(1, id);
            take.executeUpdate();
        }
    }";
    let expected = ["make", "take"].map(str::to_string);
    assert_eq!(names(&[("Hall.java", java)]), Ok(expected.to_vec()));
}
