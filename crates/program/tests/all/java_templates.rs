//! Java with the templates and clients of libraries, and what shows where a transaction begins.

use program::{JavaFile, NoteKind, Program, SourceFile, read_java, read_sources, schema_of};

const TABLES: &str = "create table item (id int primary key, stock int not null, name text);";

fn read(text: &str) -> Program {
    let (schema, _) = schema_of(TABLES, "item.sql").expect("tables");
    let name = "Items.java";
    match read_java(&[JavaFile { name, text }], &schema) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

fn of_kind(program: &Program, kind: NoteKind) -> Vec<String> {
    let notes = program.notes.iter().filter(|note| note.kind == kind);
    notes.map(|note| note.to_string()).collect()
}

/// What is read says all of this, and nothing is missing.
fn says(text: &str, wanted: &[&str]) {
    let program = read(text);
    let told = program.to_string();
    for kind in [NoteKind::LeftOut, NoteKind::Statement] {
        assert_eq!(of_kind(&program, kind), [""; 0], "{told}");
    }
    for one in wanted {
        assert!(told.contains(one), "no {one} in\n{told}");
    }
}

#[test]
fn placeholders_with_names_get_the_values_of_a_map() {
    let text = r#"
        class Items {
            private NamedParameterJdbcTemplate named;
            @Transactional
            public void more(int key, int count) {
                Map<String, Object> params = new HashMap<>();
                params.put("id", key);
                params.put("count", count);
                named.update("update item set stock = stock + :count where id = :id", params);
                named.update("update item set stock = :count where id = :id",
                    new MapSqlParameterSource("id", key).addValue("count", 7));
                named.update("delete from item where id = :id", Map.of("id", count));
                named.update("delete from item where id = :id", Collections.singletonMap("id", key));
            }
        }"#;
    // Each map has variables of its own, called after its keys.
    let wanted = [
        "  id := key\n  count := count\n  s1 = update item set stock = (stock + count) where id = id",
        "  id := key\n  count := 7\n  s2 = update item set stock = count where id = id",
        "  id := count\n  s3 = delete item where id = id",
        "  id := key\n  s4 = delete item where id = id",
    ];
    says(text, &wanted);
}

#[test]
fn the_fields_of_an_object_are_values_by_name() {
    let text = r#"
        class Items {
            private NamedParameterJdbcTemplate named;
            public void save(Item item) {
                named.update("update item set stock = :stock where id = :id",
                    new BeanPropertySqlParameterSource(item));
            }
        }"#;
    says(
        text,
        &["set stock = field_stock(item) where id = field_id(item)"],
    );
}

#[test]
fn a_client_takes_its_values_call_by_call() {
    let text = r#"
        class Items {
            private JdbcClient client;
            @Transactional
            public void take(int key, int count) {
                int left = client.sql("select stock from item where id = :id")
                    .param("id", key).query(Integer.class).single();
                client.sql("update item set stock = ? where id = ?")
                    .param(left - count).param(key).update();
            }
        }"#;
    let wanted = [
        "  :id := key\n  s1 = select {stock} of item where id = :id",
        "  ?1 := (left - count)\n  ?2 := key\n  s2 = update item set stock = ?1 where id = ?2",
    ];
    says(text, &wanted);
}

#[test]
fn mappers_and_handlers_are_no_values() {
    let text = r#"
        class Items {
            private static final RowMapper<Item> MAPPER = new ItemMapper();
            private final RowMapper<Item> rows;
            private JdbcTemplate template;
            public void look(QueryRunner runner, int key) {
                template.query("select * from item where id = ?", rows, key);
                template.query("select * from item where id = ?", MAPPER, key);
                template.query("select * from item where id = ?",
                    BeanPropertyRowMapper.newInstance(Item.class), key);
                runner.query("select stock from item where id = ?", new ScalarHandler<Integer>(), key);
                template.update("update item set stock = ? where id = ?",
                    new Object[] {key, 3}, new int[] {Types.INTEGER, Types.INTEGER});
            }
        }"#;
    let program = read(text);
    let told = program.to_string();
    assert_eq!(told.matches("where id = key").count(), 4, "{told}");
    assert!(told.contains("set stock = key where id = 3"), "{told}");
}

#[test]
fn a_batch_of_a_template_is_a_loop() {
    let text = r#"
        class Items {
            private JdbcTemplate template;
            @Transactional
            public void all(List<Item> items) {
                template.batchUpdate("update item set stock = ? where id = ?", items, 50,
                    (ps, item) -> { ps.setInt(1, item.getStock()); ps.setInt(2, item.getId()); });
            }
        }"#;
    says(
        text,
        &[
            "for each element of items",
            "update item set stock = any1(element)",
        ],
    );
}

/// What a method of a library does with SQL is not known, and that is said.
#[test]
fn statements_handed_to_strangers_are_named() {
    let text = r#"
        class Items {
            private JdbcTemplate template;
            private Store store;
            @Transactional
            public void odd(int key) {
                template.update("update item set stock = 1 where id = ?", key);
                store.perform("delete from item where id = ?", key);
                log.info("select the item from the shelf");
            }
        }"#;
    let program = read(text);
    let missing = of_kind(&program, NoteKind::LeftOut);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(
        missing[0].contains("Items.java:8:17: `store.perform("),
        "{missing:?}"
    );
}

#[test]
fn methods_that_open_no_transaction_are_named() {
    let text = r#"
        class Items {
            private JdbcTemplate template;
            public void bare(int key) {
                template.update("update item set stock = 1 where id = ?", key);
                template.update("update item set stock = 2 where id = ?", key);
            }
            public void single(int key) {
                template.update("update item set stock = 3 where id = ?", key);
            }
            @Transactional(readOnly = false, isolation = Isolation.REPEATABLE_READ)
            public void marked(int key) {
                template.update("update item set stock = 4 where id = ?", key);
                template.update("update item set stock = 5 where id = ?", key);
            }
            public void inside(int key) {
                transactionTemplate.execute(status -> {
                    template.update("update item set stock = 6 where id = ?", key);
                    template.update("update item set stock = 7 where id = ?", key);
                });
            }
        }"#;
    let program = read(text);
    let notes = of_kind(&program, NoteKind::Boundary);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains(": `bare`: taken for one transaction"),
        "{notes:?}"
    );
    let marked = program.transaction("marked").expect("a transaction");
    assert_eq!(marked.level.as_deref(), Some("repeatable read"));
}

#[test]
fn statements_in_no_transaction_are_named() {
    let text = r#"
        class Items {
            private JdbcTemplate template;
            public void used(int key) {
                template.update("update item set stock = 1 where id = ?", key);
            }
            private void forgotten(int key) {
                template.update("delete from item where id = ?", key);
            }
        }"#;
    let mut program = read(text);
    let notes = of_kind(&program, NoteKind::Unplaced);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("Items.java:8:33: `delete from item"),
        "{notes:?}"
    );
    // Nothing is proved without it, but of those that are named.
    assert_eq!(program.left_out(), 1);
    program.keep(&["used".to_string()]);
    assert_eq!(program.left_out(), 0);

    let text = text.replace("delete from item", "select id from item");
    let program = read(&text);
    let notes = of_kind(&program, NoteKind::Boundary);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(program.left_out(), 0);
}

/// What is executed in a stored procedure is not taken for a transaction of a script.
#[test]
fn procedures_of_the_database_are_noted() {
    let sql = "create table item (id int primary key, stock int not null);\n\
               delimiter //\n\
               create procedure take(in a int)\nbegin\n  start transaction;\n  \
               update item set stock = stock - 1 where id = a;\n  commit;\nend //\n\
               delimiter ;\n";
    let java = r#"class Items {
        public void take(Connection connection, int key) {
            connection.prepareStatement("update item set stock = 3 where id = 1").execute();
        }
    }"#;
    let files = [("item.sql", sql), ("Items.java", java)];
    let files = files.map(|(name, text)| SourceFile { name, text });
    let program = read_sources(&files).unwrap_or_else(|error| panic!("{error}"));
    let missing = of_kind(&program, NoteKind::LeftOut);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(
        missing[0].starts_with("item.sql:3:1: `create procedure take"),
        "{missing:?}"
    );
}

/// Who asks for one row and gets none is thrown out, unless he catches that.
#[test]
fn an_object_that_is_not_there_aborts() {
    let text = |caught: &str| {
        format!(
            "class Items {{
                private JdbcTemplate template;
                @Transactional
                public void take(int key) {{
                    int left = template.queryForObject(\"select stock from item where id = ?\", Integer.class, key);
                    template.update(\"update item set stock = ? where id = ?\", left - 1, key);
                }}
                {caught}
            }}"
        )
    };
    assert!(read(&text("")).to_string().contains("abort"));
    let caught = "void f() { try { g(); } catch (EmptyResultDataAccessException e) { } }";
    assert!(!read(&text(caught)).to_string().contains("abort"));
}

#[test]
fn calls_of_stored_procedures_are_named() {
    let text = r#"class Items {
        public void take(Connection connection, int key) throws SQLException {
            CallableStatement call = connection.prepareCall("{call take_one(?)}");
            call.setInt(1, key);
            call.execute();
        }
    }"#;
    let missing = of_kind(&read(text), NoteKind::LeftOut);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(
        missing[0].contains("the stored procedure take_one"),
        "{missing:?}"
    );
}

#[test]
fn java_that_does_not_parse_is_named() {
    let (schema, _) = schema_of(TABLES, "item.sql").expect("tables");
    let name = "Broken.java";
    let text = "class Broken {\n    void take( {\n";
    let error = read_java(&[JavaFile { name, text }], &schema).expect_err("not Java");
    assert!(
        error.to_string().contains("not Java that we can read"),
        "{error}"
    );
    assert_eq!(&*error.place.file, name);
}

#[test]
fn a_template_with_a_text_that_is_not_known_is_named() {
    let text = r#"class Items {
        private JdbcTemplate template;
        @Transactional
        public void any(String sql, boolean few, int key) {
            template.update("update item set stock = 1 where id = ?" + (few ? " and stock > 5" : ""), key);
            template.update(sql);
        }
    }"#;
    let program = read(text);
    let missing = of_kind(&program, NoteKind::LeftOut);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].contains("`template.update(sql)`"), "{missing:?}");
    assert!(
        program.to_string().contains("update item set stock = 1"),
        "{program}"
    );
}
