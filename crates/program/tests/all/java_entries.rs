//! Which methods of an application are its transactions: behind servlets, menus and threads.

use program::{Bounds, Condition, Guard, Program, SourceFile, read_sources};

const TABLES: &str = "
create table `shop`.`seat` (
  id int not null,
  guest int null,
  note varchar(20) null,
  primary key (`id`),
  index `by_guest` (`guest` asc) visible,
  unique index `by_note` (`note` asc) invisible);
start transaction;
use shop;
insert into seat values (1, null, 'a');
insert into seat values (2, null, 'b');
commit;
";

fn read(java: &str) -> Program {
    let files = [("tables.sql", TABLES), ("Seats.java", java)];
    let files = files.map(|(name, text)| SourceFile { name, text });
    read_sources(&files).unwrap_or_else(|error| panic!("{error}"))
}

fn names(java: &str) -> Vec<String> {
    let program = read(java);
    let names = program.transactions.iter().map(|one| one.name.clone());
    names.collect()
}

const TAKE: &str = "
    void take(Connection con, int guest, int seat) throws SQLException {
        PreparedStatement change = con.prepareStatement(\"update seat set guest = ? where id = ?\");
        change.setInt(1, guest);
        change.setInt(2, seat);
        change.executeUpdate();
    }";

/// A servlet asks services one after the other: each is a transaction, and what fills the tables is none.
#[test]
fn servlets_call_transactions() {
    let text = format!(
        "class Service {{
            public void book(int guest, int seat) throws SQLException {{
                Connection con = Pool.get();
                take(con, guest, seat);
            }}
            private {TAKE}
            public void free(int seat) throws SQLException {{
                PreparedStatement change = Pool.get().prepareStatement(\"update seat set guest = null where id = ?\");
                change.setInt(1, seat);
                change.executeUpdate();
            }}
        }}
        class BookServlet extends HttpServlet {{
            protected void doPost(HttpServletRequest request, HttpServletResponse response) {{
                Service service = new Service();
                service.free(Integer.parseInt(request.getParameter(\"old\")));
                service.book(7, Integer.parseInt(request.getParameter(\"new\")));
            }}
        }}"
    );
    assert_eq!(names(&text), ["book", "free"]);
}

#[test]
fn a_servlet_that_commits_is_a_transaction() {
    let text = format!(
        "class Seats {{ public {TAKE} }}
        class BookServlet extends HttpServlet {{
            protected void doPost(HttpServletRequest request, HttpServletResponse response) {{
                Connection con = Pool.get();
                con.setAutoCommit(false);
                Seats seats = new Seats();
                seats.take(con, 7, 1);
                seats.take(con, 7, 2);
                con.commit();
            }}
        }}"
    );
    let program = read(&text);
    assert_eq!(program.transactions.len(), 1);
    assert_eq!(program.transactions[0].name, "doPost");
    assert_eq!(program.transactions[0].statements().len(), 2);
}

/// What threads do that `main` starts is what the program is about; its settings are not.
#[test]
fn main_begins_private_methods() {
    let text = "
        class Rush {
            public static void main(String[] args) throws Exception {
                ExecutorService executor = Executors.newFixedThreadPool(120);
                for (int guest = 0; guest < 120; guest++) {
                    executor.execute(() -> book(guest));
                }
            }
            private static void book(int guest) {
                try (Connection con = DriverManager.getConnection(URL)) {
                    con.setAutoCommit(false);
                    try (Statement settings = con.createStatement()) {
                        settings.execute(\"SET innodb_lock_wait_timeout = 100\");
                    }
                    ResultSet rows = con.createStatement().executeQuery(
                        \"select id from seat where guest is null order by id limit 1\");
                    if (rows.next()) {
                        PreparedStatement change = con.prepareStatement(\"update seat set guest = ? where id = ?\");
                        change.setInt(1, guest);
                        change.setInt(2, rows.getInt(\"id\"));
                        change.executeUpdate();
                    }
                    con.commit();
                }
            }
        }";
    let program = read(text);
    assert_eq!(names(text), ["book"]);
    assert_eq!(program.left_out(), 0, "{:?}", program.notes);
}

#[test]
fn main_is_a_transaction_where_it_commits_its_own_statements() {
    let text = "
        class Once {
            public static void main(String[] args) throws Exception {
                Connection con = DriverManager.getConnection(URL);
                con.setAutoCommit(false);
                PreparedStatement change = con.prepareStatement(\"update seat set guest = 1 where id = 1\");
                change.executeUpdate();
                con.commit();
            }
        }";
    assert_eq!(names(text), ["main"]);
}

#[test]
fn menus_begin_private_methods() {
    let text = "
        class Menu {
            private Scanner keyboard = new Scanner(System.in);
            private Connection con;
            public void choose() {
                switch (keyboard.nextInt()) {
                    case 1: free(keyboard.nextInt()); break;
                    default: System.out.println(\"?\");
                }
            }
            private void free(int seat) throws SQLException {
                PreparedStatement change = con.prepareStatement(\"update seat set guest = null where id = ?\");
                change.setInt(1, seat);
                change.executeUpdate();
            }
            private void never(int seat) throws SQLException {
                con.prepareStatement(\"delete from seat\").executeUpdate();
            }
        }";
    assert_eq!(names(text), ["free"]);
}

/// What `var` declares is of the class that is returned: its methods are followed, and it is null where no row was found.
#[test]
fn var_is_what_it_is_given() {
    let text = "
        class Seat {
            private Integer id; private Integer guest;
            Seat(Integer id, Integer guest) { this.id = id; this.guest = guest; }
            boolean isTaken() { return guest != 0; }
        }
        class Hall {
            private Connection con;
            private Seat find(int id) throws SQLException {
                Seat seat = null;
                PreparedStatement find = con.prepareStatement(\"select id, guest from seat where id = ?\");
                find.setInt(1, id);
                ResultSet rows = find.executeQuery();
                while (rows.next()) {
                    seat = new Seat(rows.getInt(1), rows.getInt(2));
                }
                return seat;
            }
            public void close(int id) throws SQLException {
                var seat = find(id);
                if (seat == null) {
                    throw new RuntimeException(\"none\");
                }
                if (seat.isTaken()) {
                    throw new RuntimeException(\"taken\");
                }
                PreparedStatement end = con.prepareStatement(\"delete from seat where id = ?\");
                end.setInt(1, id);
                end.executeUpdate();
            }
        }";
    let program = read(text);
    let paths = program.transactions[0].paths(&program.schema, Bounds::default());
    let unknown = |guard: &Guard| matches!(guard.condition, Condition::Unknown { .. });
    assert!(!paths.paths.iter().flat_map(|one| &one.guards).any(unknown));
    // Nobody deletes a seat that was not found.
    for path in paths.paths.iter().filter(|one| one.statements.len() == 2) {
        let found = |guard: &Guard| matches!(guard.condition, Condition::HasRow { .. });
        assert!(path.guards.iter().any(found), "{:?}", path.guards);
    }
    assert!(paths.paths.iter().any(|one| one.statements.len() == 2));
}

#[test]
fn windows_call_transactions() {
    let text = format!(
        "class Seats {{ Connection con; public {TAKE} }}
        class Form extends JFrame {{
            private void pressed(ActionEvent event) {{
                new Seats().take(Pool.get(), 7, 1);
            }}
        }}"
    );
    assert_eq!(names(&text), ["take"]);
}
