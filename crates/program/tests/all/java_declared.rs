//! Java whose statements stand in annotations of interfaces, and objects that carry rows between statements.

use program::analysis::{Kind, Options, analyse};
use program::{
    Bounds, JavaFile, NoteKind, Printer, Program, SourceFile, StoreLevel, read_java, read_sources,
    schema_of,
};

const TABLES: &str =
    "create table account (id int primary key, owner_name text, balance int not null);
create table entry (id serial primary key, account_id int, amount int not null);";

const ENTITY: &str = r#"
class Account {
    private int id;
    private String ownerName;
    private int balance;
    public int getId() { return id; }
    public int getBalance() { return balance; }
    public void setBalance(int balance) { this.balance = balance; }
    public void withdraw(int amount) {
        if (balance < amount) { throw new IllegalStateException("too little"); }
        balance -= amount;
    }
}"#;

fn read(text: &str) -> Program {
    let (schema, _) = schema_of(TABLES, "tables.sql").expect("tables");
    let files = [
        JavaFile {
            name: "Account.java",
            text: ENTITY,
        },
        JavaFile {
            name: "Bank.java",
            text,
        },
    ];
    match read_java(&files, &schema) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

fn missing(program: &Program) -> Vec<String> {
    let kinds = [NoteKind::LeftOut, NoteKind::Statement];
    let notes = program
        .notes
        .iter()
        .filter(|note| kinds.contains(&note.kind));
    notes.map(|note| note.to_string()).collect()
}

/// The statements of the only path of a transaction that commits, one a line.
fn path_of(program: &Program, name: &str) -> String {
    let transaction = program.transactions.iter().find(|one| one.name == name);
    let transaction = transaction.unwrap_or_else(|| panic!("no {name} in\n{program}"));
    let found = transaction.paths(&program.schema, Bounds::default());
    let path = found.paths.iter().max_by_key(|path| path.statements.len());
    let path = path.unwrap_or_else(|| panic!("no path\n{program}"));
    Printer::of_path(&program.schema, transaction, path).path(path)
}

#[test]
fn statements_of_mybatis_are_those_of_its_callers() {
    let text = r#"
        @Mapper
        interface Accounts {
            @Select("select id, owner_name, balance from account where id = #{id}")
            Account find(int id);
            @Update({"update account set balance = #{account.balance}",
                     "where id = #{account.id, jdbcType=INTEGER}"})
            int save(@Param("account") Account account);
            @Insert("insert into entry (account_id, amount) values (#{param1}, #{arg1})")
            void note(int account, int amount);
        }
        class Bank {
            private Accounts accounts;
            @Transactional
            public void pay(int key, int amount) {
                Account account = accounts.find(key);
                if (account == null) { throw new IllegalArgumentException("nobody"); }
                account.setBalance(account.getBalance() - amount);
                accounts.save(account);
                accounts.note(key, amount);
            }
        }"#;
    let program = read(text);
    assert_eq!(missing(&program), [""; 0], "{program}");
    assert_eq!(program.transactions.len(), 1, "{program}");
    let path = path_of(&program, "pay");
    for part in [
        "(s1[0].balance - amount)",
        "id = s1[0].id",
        "account_id = key",
    ] {
        assert!(path.contains(part), "no {part} in\n{path}");
    }
    let options = Options {
        levels: vec![StoreLevel::ReadCommitted],
        instances: 2,
        ..Options::default()
    };
    let found = analyse(&program, &options);
    let kinds: Vec<Kind> = found.anomalies.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [Kind::LostUpdate], "{:?}", found.counts);
}

#[test]
fn statements_of_jdbi_and_spring_data_have_names_with_colons() {
    let text = r#"
        interface Accounts {
            @SqlQuery("select balance from account where id = :id")
            int balance(@Bind("id") int key);
            @SqlUpdate("update account set balance = :balance::int where id = :id and owner_name <> ':no'")
            void save(@BindBean Account account);
        }
        interface Entries {
            @Query("select amount from entry where id = :#{#entry.id}")
            Integer amount(@Param("entry") Entry entry);
            @Modifying
            @Query(value = "update entry set amount = ?2 where id = ?1", nativeQuery = true)
            void change(int id, int amount);
        }"#;
    let program = read(text);
    assert_eq!(missing(&program), [""; 0], "{program}");
    let told = program.to_string();
    for part in [
        "where id = key",
        "set balance = field_balance(account) where (id = field_id(account) and owner_name <> ':no')",
        "where id = field_id(entry)",
        "set amount = amount where id = id",
    ] {
        assert!(told.contains(part), "no {part} in\n{told}");
    }
}

#[test]
fn what_is_about_objects_or_put_together_is_left_out_by_name() {
    let text = r#"
        import org.springframework.data.jpa.repository.Query;
        interface Accounts {
            @Query("select a from Account a where a.owner = :owner")
            Account of(@Param("owner") String owner);
            @Update("<script>update account set balance = 1 <new test='id != null'>where id = #{id}</new></script>")
            void put(Integer id);
        }
        class Bank {
            private Accounts accounts;
            @Transactional
            public void clear(Integer id, String owner) { accounts.put(id); accounts.of(owner); }
        }"#;
    let told = missing(&read(text)).join("\n");
    assert!(told.contains("a query about objects"), "{told}");
    assert!(told.contains("<new> is not followed"), "{told}");
}

#[test]
fn a_statement_with_and_without_a_part_is_asked_both_ways() {
    let text = r#"
        interface Accounts {
            @Update("<script>update account <set><if test='balance != null'>balance = #{balance},</if> owner_name = #{owner}</set> where id = #{id}</script>")
            int put(@Param("id") int id, @Param("balance") Integer balance, @Param("owner") String owner);
            @Delete("<script>delete from account where id in <foreach collection='ids' item='one' open='(' separator=',' close=')'>#{one}</foreach></script>")
            int drop(@Param("ids") List<Integer> ids);
        }
        class Bank {
            private Accounts accounts;
            @Transactional
            public void change(int id, Integer balance, String owner) { accounts.put(id, balance, owner); }
            @Transactional
            public void clear(List<Integer> ids) { accounts.drop(ids); }
        }"#;
    let program = read(text);
    assert_eq!(missing(&program), [""; 0], "{program}");
    let told = program.to_string();
    assert!(
        told.contains("set balance = balance, owner_name = owner where id = id"),
        "{told}"
    );
    assert!(
        told.contains("set owner_name = owner where id = id"),
        "{told}"
    );
    assert!(told.contains("id in (ids)"), "{told}");
}

#[test]
fn a_method_of_the_object_changes_what_is_written() {
    let text = r#"
        class Bank {
            private JdbcTemplate template;
            @Transactional
            public void pay(int key, int amount) {
                Account account = template.queryForObject("select id, owner_name, balance from account where id = ?",
                    new BeanPropertyRowMapper<>(Account.class), key);
                account.withdraw(amount);
                template.update("update account set balance = ? where id = ?", account.getBalance(), account.getId());
            }
        }"#;
    let program = read(text);
    assert_eq!(missing(&program), [""; 0], "{program}");
    let path = path_of(&program, "pay");
    assert!(path.contains("(s1[0].balance - amount)"), "{path}");
    assert!(path.contains("not (s1[0].balance < amount)"), "{path}");
}

#[test]
fn what_an_unknown_method_does_to_an_object_is_any_value() {
    let text = r#"
        class Bank {
            private JdbcTemplate template;
            @Transactional
            public void pay(Wallet wallet, int amount) {
                wallet.take(amount);
                template.update("update account set balance = ? where id = ?", wallet.getBalance(), 1);
            }
        }"#;
    let told = read(text).to_string();
    assert!(told.contains("wallet := any1(wallet, amount)"), "{told}");
}

const MAPPER: &str = r#"<?xml version="1.0"?>
<!-- <select id="find">select 1</select> -->
<mapper namespace="bank.Accounts">
  <sql id="columns">id, owner_name, balance</sql>
  <select id="find" resultType="Account">
    select <include refid="columns"/> from account where id = #{id} and balance &lt; 1000
  </select>
  <update id="save"><![CDATA[
    update account set balance = #{balance} where id = #{id} and "balance" < 2000
  ]]></update>
  <insert id="note" useGeneratedKeys="true" keyProperty="id">
    insert into entry (account_id, amount) values (#{accountId}, #{amount})
  </insert>
  <update id="put">update account <set><if test="balance != null">balance = #{balance}</if></set></update>
</mapper>"#;

const MAPPED: &str = r#"
package bank;
public interface Accounts {
    Account find(int id);
    void save(Account account);
    void note(Entry entry);
    void put(Account account);
}
class Entry { int id; int accountId; int amount; }
class Bank {
    private Accounts accounts;
    @Transactional
    public void pay(int key, int amount) {
        Account account = accounts.find(key);
        account.withdraw(amount);
        accounts.save(account);
        Entry entry = new Entry();
        entry.accountId = key;
        entry.amount = amount;
        accounts.note(entry);
    }
}"#;

fn sources(java: &str, xml: &str) -> Program {
    let file = |name, text| SourceFile { name, text };
    let files = [
        file("tables.sql", TABLES),
        file("Account.java", ENTITY),
        file("Bank.java", java),
        file("Accounts.xml", xml),
    ];
    read_sources(&files).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn statements_in_xml_are_those_of_the_interface() {
    let program = sources(MAPPED, MAPPER);
    let path = path_of(&program, "pay");
    for part in [
        "select {id, owner_name, balance} of account where (id = key and balance < 1000)",
        "set balance = (s1[0].balance - amount) where (id = s1[0].id and balance < 2000)",
        "insert entry {account_id = key, amount = amount}",
    ] {
        assert!(path.contains(part), "no {part} in\n{path}");
    }
    // Nobody calls it, so it is a transaction of its own, and its text is not known.
    let told = missing(&program).join("\n");
    assert!(told.contains("Bank.java:7:5"), "{told}");
    assert_eq!(program.left_out(), 1, "{told}");
}

#[test]
fn a_damaged_mapper_is_no_statement() {
    for cut in 1..MAPPER.len() {
        if MAPPER.is_char_boundary(cut) {
            let text = format!("{}<mapper namespace", &MAPPER[..cut]);
            let file = |name, text| SourceFile { name, text };
            let files = [
                file("tables.sql", TABLES),
                file("Account.java", ENTITY),
                file("Bank.java", MAPPED),
                file("Accounts.xml", text.as_str()),
            ];
            let _ = read_sources(&files);
        }
    }
}

#[test]
fn what_a_library_implements_is_left_out_by_name() {
    let text = r#"
        interface Accounts extends JpaRepository<Account, Integer> {
            @Query(value = "update account set balance = balance + :more where id = :id", nativeQuery = true)
            void add(@Param("id") int id, @Param("more") int more);
        }
        class Bank {
            private Accounts accounts;
            private EntityManager manager;
            private ObjectMapper mapper;
            @Transactional
            public void pay(int key, int amount) {
                accounts.add(key, amount);
                accounts.save(accounts.findById(key));
                manager.flush();
                mapper.writeValueAsString(key);
            }
        }"#;
    let program = read(text);
    let told = missing(&program).join("\n");
    assert!(
        told.contains("calls of Accounts get to the database"),
        "{told}"
    );
    assert!(told.contains("calls of EntityManager get"), "{told}");
    assert_eq!(program.left_out(), 2, "{told}");
}

#[test]
fn statements_prepared_by_another_method_are_known() {
    let text = r#"
        class Bank {
            private Connection connection;
            private PreparedStatement find;
            private PreparedStatement lock;
            private PreparedStatement change;
            Bank() { connect(); prepare(); }
            private void connect() { connection.setAutoCommit(false); }
            private void prepare() {
                find = connection.prepareStatement("select id, balance from account where id = ?");
                lock = connection.prepareStatement("select id, balance from account where id = ? FOR NO KEY UPDATE");
                change = connection.prepareStatement("update account set balance = ? where id = ?");
            }
            private int balance(int key, boolean holding) {
                PreparedStatement chosen;
                if (holding) { chosen = lock; } else { chosen = find; }
                chosen.setInt(1, key);
                ResultSet rows = chosen.executeQuery();
                rows.next();
                return rows.getInt("balance");
            }
            public void pay(int key, int amount) {
                int balance = balance(key, true);
                change.setInt(1, balance - amount);
                change.setInt(2, key);
                change.executeUpdate();
                connection.commit();
            }
        }"#;
    let program = read(text);
    assert_eq!(missing(&program), [""; 0], "{program}");
    let path = path_of(&program, "pay");
    assert!(path.contains("for update"), "{path}");
    assert!(path.contains("(s1[0].balance - amount)"), "{path}");
}

fn names(text: &str) -> Vec<String> {
    let program = read(text);
    let names = program.transactions.iter().map(|one| one.name.clone());
    names.collect()
}

/// A transaction that is taken for larger than it is hides what happens between its parts.
#[test]
fn marked_methods_are_the_transactions_of_their_callers() {
    let text = r#"
        class Bank {
            private JdbcTemplate template;
            @Transactional
            public void take(int key, int amount) {
                template.update("update account set balance = balance - ? where id = ?", amount, key);
                note(key, amount);
            }
            @Transactional
            public void note(int key, int amount) {
                template.update("insert into entry (account_id, amount) values (?, ?)", key, amount);
            }
            @Transactional
            public void close(int key) { template.update("delete from account where id = ?", key); }
        }
        class Controller {
            private Bank bank;
            public void move(int from, int to, int amount) {
                bank.take(from, amount);
                bank.take(to, 0 - amount);
                bank.close(from);
            }
        }"#;
    assert_eq!(names(text), ["take", "close"]);
}

#[test]
fn who_talks_to_a_terminal_is_no_transaction() {
    let text = r#"
        class Menu {
            private final Scanner keyboard = new Scanner(System.in);
            private Bank bank;
            public void choose() {
                while (true) {
                    switch (keyboard.nextInt()) {
                        case 1: bank.take(keyboard.nextInt(), 5); break;
                        default: bank.look(keyboard.nextInt());
                    }
                }
            }
        }
        class Bank {
            private Connection connection;
            public void take(int key, int amount) {
                PreparedStatement change = connection.prepareStatement("update account set balance = ? where id = ?");
                change.setInt(1, amount);
                change.setInt(2, key);
                change.executeUpdate();
            }
            public int look(int key) {
                PreparedStatement find = connection.prepareStatement("select balance from account where id = ?");
                find.setInt(1, key);
                ResultSet rows = find.executeQuery();
                rows.next();
                return rows.getInt(1);
            }
        }"#;
    assert_eq!(names(text), ["take", "look"]);
}

#[test]
fn an_unmarked_method_commits_around_the_marked_ones_it_calls() {
    let text = r#"
        class Bank {
            private JdbcTemplate template;
            @Transactional
            public void take(int key) { template.update("update account set balance = 1 where id = ?", key); }
        }
        class Runner {
            private Bank bank;
            private JdbcTemplate template;
            public void both(int key) {
                bank.take(key);
                template.update("delete from entry where id = ?", key);
            }
        }"#;
    assert_eq!(names(text), ["take", "both", "both.2"]);
}

#[test]
fn objects_are_what_their_constructors_make_of_them() {
    let text = r#"
        class Entry {
            private final int account;
            private final int amount;
            Entry(int account) { this(account, 7); }
            Entry(int account, int amount) { this.account = account; this.amount = amount + 1; }
            public int getAccount() { return account; }
            public int getAmount() { return amount; }
        }
        class Bank {
            private JdbcTemplate template;
            public void note(int key) {
                Entry entry = new Entry(key);
                int number = (int) Math.floor(Math.random() * Integer.MAX_VALUE);
                template.update("insert into entry (id, account_id, amount) values (?, ?, ?)",
                    number, entry.getAccount(), entry.getAmount());
            }
        }"#;
    let program = read(text);
    let path = path_of(&program, "note");
    let wanted = "insert entry {id = any";
    assert!(path.contains(wanted), "{path}");
    assert!(path.contains("account_id = key, amount = 8}"), "{path}");
}

#[test]
fn a_text_has_no_parts() {
    let text = r#"
        class Bank {
            private JdbcTemplate template;
            public void rename(int key, String name) {
                if (name.isBlank()) { throw new IllegalArgumentException("no name"); }
                template.update("update account set owner_name = ? where id = ?", name, key);
            }
        }"#;
    let told = read(text).to_string();
    assert!(told.contains("if any1(name)"), "{told}");
    assert!(!told.contains("field_blank"), "{told}");
}
