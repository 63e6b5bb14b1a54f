//! SQL statements on rows, each against what it must return and leave behind.

use program::{
    Fate, How, Instance, Program, Scenario, StoredRow, TableId, Value, play, read_sql_file,
};

const TABLES: &str = "
create table item (id int primary key, name text unique, price int, stock int not null default 5);
create table line (o int, n int, item int, qty int not null, primary key (o, n));
create table tag (item int, word text);
create table log (id serial primary key, what text);
";

fn text(value: &str) -> Value {
    Value::Text(value.to_string())
}

fn rows() -> Vec<StoredRow> {
    let int = Value::Integer;
    let row = |table: u32, values: Vec<Value>| StoredRow {
        table: TableId(table),
        values,
    };
    vec![
        row(0, vec![int(1), text("ant"), int(10), int(3)]),
        row(0, vec![int(2), text("bee"), int(20), int(0)]),
        row(0, vec![int(3), text("cat"), Value::Null, int(7)]),
        row(1, vec![int(1), int(1), int(1), int(2)]),
        row(1, vec![int(1), int(2), int(2), int(4)]),
        row(1, vec![int(2), int(1), int(1), int(1)]),
        row(2, vec![int(1), text("small")]),
        row(2, vec![int(1), text("red")]),
    ]
}

fn program(sql: &str) -> Program {
    let source = format!("{TABLES}\ntransaction t()\n  {sql};\nend;");
    match read_sql_file(&source, "cases.sql", None) {
        Ok(program) => program,
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn one(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => format!("{number:?}"),
        Value::Text(text) => text.clone(),
        Value::List(all) => format!("{all:?}"),
    }
}

fn shown(rows: &[Vec<Value>]) -> String {
    let row = |row: &Vec<Value>| row.iter().map(one).collect::<Vec<_>>().join(",");
    rows.iter().map(row).collect::<Vec<_>>().join(" ")
}

/// The rows that a statement returns, or how it fails.
pub(crate) fn returned(sql: &str) -> String {
    let program = program(sql);
    let scenario = Scenario {
        rows: rows(),
        instances: vec![Instance::default()],
        schedule: Vec::new(),
    };
    let played = play(&program, &scenario, How::Given).expect("it plays");
    match &played.runs[0].fate {
        Fate::AbortedByStore { message, .. } => message.clone(),
        _ => shown(&played.runs[0].results[0].rows),
    }
}

/// How many rows a statement changed, and the table afterwards.
pub(crate) fn left(sql: &str, table: u32) -> String {
    let program = program(sql);
    let scenario = Scenario {
        rows: rows(),
        instances: vec![Instance::default()],
        schedule: Vec::new(),
    };
    let played = play(&program, &scenario, How::Given).expect("it plays");
    if let Fate::AbortedByStore { message, .. } = &played.runs[0].fate {
        return message.clone();
    }
    let changed = played.runs[0].results[0].changed;
    let kept = played.rows.iter().filter(|row| row.table == TableId(table));
    let kept: Vec<Vec<Value>> = kept.map(|row| row.values.clone()).collect();
    format!("{changed}: {}", shown(&kept))
}

#[test]
fn selects() {
    let cases = [
        ("select * from item where id = 2", "2,bee,20,0"),
        ("select name from item where id = 9", ""),
        ("select id from item", "1 2 3"),
        ("select id from item order by stock desc", "3 1 2"),
        ("select id from item order by price", "1 2 3"),
        ("select id from item order by stock limit 2", "2 1"),
        ("select id from item limit 0", ""),
        ("select id from item order by stock offset 1", "1 3"),
        ("select id from item order by stock limit 1 offset 1", "1"),
        ("select id from item order by stock limit 1, 2", "1 3"),
        ("select id from item offset 9", ""),
        // NULL compares with nothing.
        ("select id from item where price > 5", "1 2"),
        ("select id from item where not (price > 15)", "1"),
        ("select id from item where price = null", ""),
        ("select id from item where price is null", "3"),
        ("select id from item where price is not null", "1 2"),
        ("select id from item where price <> 10 or stock = 7", "2 3"),
        ("select id from item where id in (1, 3, 9)", "1 3"),
        ("select id from item where id not in (1, 3)", "2"),
        ("select id from item where price not in (10, null)", ""),
        ("select id from item where id between 2 and 3", "2 3"),
        ("select id from item where id not between 2 and 3", "1"),
        ("select id from item where name like '_e%'", "2"),
        ("select id from item where name like '%t'", "1 3"),
        ("select id from item where name not like '%a%'", "2"),
        (
            "select id + 1, stock * 2, stock - 1 from item where id = 1",
            "2,6,2",
        ),
        ("select 7 / 2, 7 % 4 from item where id = 1", "3,3"),
        ("select price / 4.0 from item where id = 1", "2.5"),
        ("select price + 1 from item where id = 3", "null"),
        (
            "select upper(name), length(name), abs(0 - id) from item where id = 2",
            "BEE,3,2",
        ),
        ("select coalesce(price, 0) from item where id = 3", "0"),
        ("select name || '!' from item where id = 1", "ant!"),
        (
            "select case when stock = 0 then 'out' else 'in' end from item",
            "in out in",
        ),
        (
            "select case id when 1 then 'a' when 2 then 'b' end from item",
            "a b null",
        ),
        ("select distinct o from line", "1 2"),
        (
            "select 1 / stock from item where id = 2",
            "cases.sql:8:3: division by zero",
        ),
    ];
    for (sql, expected) in cases {
        assert_eq!(returned(sql), expected, "{sql}");
    }
}

#[test]
fn aggregates() {
    let cases = [
        ("select count(*) from item", "3"),
        (
            "select count(price), sum(price), min(price), max(price) from item",
            "2,30,10,20",
        ),
        ("select avg(price) from item", "15.0"),
        (
            "select count(*), sum(price) from item where id > 9",
            "0,null",
        ),
        ("select count(distinct o) from line", "2"),
        ("select o, sum(qty) from line group by o", "1,6 2,1"),
        (
            "select o, count(*) from line group by o order by o desc",
            "2,1 1,2",
        ),
        ("select max(qty) + 1 from line", "5"),
        ("select o, sum(qty) from line where o > 5 group by o", ""),
        ("select coalesce(max(n), 0) + 1 from line where o = 7", "1"),
        ("select o from line group by o having count(*) > 1", "1"),
        (
            "select o, sum(qty) from line group by o having sum(qty) between 1 and 5 and o <> 7",
            "2,1",
        ),
        (
            "select o from line group by o having not (count(*) in (1, 3) or max(qty) is null)",
            "1",
        ),
        ("select sum(qty) from line having sum(qty) <> 7", ""),
        ("select sum(qty) from line having sum(qty) <> 8", "7"),
        (
            "select count(*) from line where o = 7 having count(*) = 0",
            "0",
        ),
    ];
    for (sql, expected) in cases {
        assert_eq!(returned(sql), expected, "{sql}");
    }
}

#[test]
fn joins_and_sub_queries() {
    let cases = [
        (
            "select l.n, i.name from line l, item i where l.o = 1 and i.id = l.item",
            "1,ant 2,bee",
        ),
        (
            "select i.name, l.qty from line l join item i on i.id = l.item where l.o = 2",
            "ant,1",
        ),
        (
            "select i.id, l.o from item i left join line l on l.item = i.id where i.id > 1",
            "2,1 3,null",
        ),
        (
            "select a.id, b.id from item a, item b where a.stock < b.stock and b.id = 1",
            "2,1",
        ),
        (
            "select name from item where id in (select item from line where o = 1)",
            "ant bee",
        ),
        (
            "select name from item where id not in (select item from line)",
            "cat",
        ),
        (
            "select name from item i where exists (select 1 from line l where l.item = i.id)",
            "ant bee",
        ),
        (
            "select name from item i where not exists (select 1 from tag t where t.item = i.id)",
            "bee cat",
        ),
        (
            "select name from item where stock = (select max(stock) from item)",
            "cat",
        ),
        (
            "select id from item where id > (select count(*) from tag)",
            "3",
        ),
        (
            "select o, n from line where (o, n) in (select o, n from line where qty = 4)",
            "1,2",
        ),
        (
            "select count(*) from line l, item i where i.id = l.item and i.stock < 3",
            "1",
        ),
        (
            "select word from tag where item = 1 order by word",
            "red small",
        ),
    ];
    for (sql, expected) in cases {
        assert_eq!(returned(sql), expected, "{sql}");
    }
}

#[test]
fn updates_and_deletes() {
    let cases = [
        (
            "update item set stock = stock - 1 where id = 1",
            0,
            "1: 1,ant,10,2 2,bee,20,0 3,cat,null,7",
        ),
        (
            "update item set price = 1 where stock < 5",
            0,
            "2: 1,ant,1,3 2,bee,1,0 3,cat,null,7",
        ),
        // All values are computed from the old row.
        (
            "update item set price = stock, stock = price where id = 1",
            0,
            "1: 1,ant,3,10 2,bee,20,0 3,cat,null,7",
        ),
        (
            "update item set stock = 1 where id = 9",
            0,
            "0: 1,ant,10,3 2,bee,20,0 3,cat,null,7",
        ),
        (
            "update item set stock = (select sum(qty) from line where item = 1) where id = 1",
            0,
            "1: 1,ant,10,3 2,bee,20,0 3,cat,null,7",
        ),
        (
            "update item set stock = null where id = 1",
            0,
            "cases.sql:8:3: item.stock may not be NULL",
        ),
        (
            "update item set id = 4 where id = 3",
            0,
            "1: 1,ant,10,3 2,bee,20,0 4,cat,null,7",
        ),
        (
            "update item set id = 2 where id = 3",
            0,
            "cases.sql:8:3: duplicate key: item[2] exists",
        ),
        (
            "update item set name = 'ant' where id = 3",
            0,
            "cases.sql:8:3: duplicate key: item[1] exists",
        ),
        ("delete from line where o = 1", 1, "2: 2,1,1,1"),
        ("delete from tag where word = 'red'", 2, "1: 1,small"),
        ("delete from tag", 2, "2: "),
        (
            "delete from line where item in (select id from item where stock = 0)",
            1,
            "1: 1,1,1,2 2,1,1,1",
        ),
    ];
    for (sql, table, expected) in cases {
        assert_eq!(left(sql, table), expected, "{sql}");
    }
}

#[test]
fn inserts() {
    let cases = [
        (
            "insert into line values (3, 1, 2, 9)",
            1,
            "1: 1,1,1,2 1,2,2,4 2,1,1,1 3,1,2,9",
        ),
        (
            "insert into item (id, name) values (4, 'dog')",
            0,
            "1: 1,ant,10,3 2,bee,20,0 3,cat,null,7 4,dog,null,5",
        ),
        (
            "insert into item (id, name) values (1, 'dog')",
            0,
            "cases.sql:8:3: duplicate key: item[1] exists",
        ),
        (
            "insert into item (id, name) values (4, 'bee')",
            0,
            "cases.sql:8:3: duplicate key: item[2] exists",
        ),
        (
            "insert into line values (3, 1, 2, 9), (3, 1, 2, 8)",
            1,
            "cases.sql:8:3: duplicate key: line[3,1] exists",
        ),
        (
            "insert into line (o, n) values (3, 1)",
            1,
            "cases.sql:8:3: line.qty may not be NULL",
        ),
    ];
    for (sql, table, expected) in cases {
        assert_eq!(left(sql, table), expected, "{sql}");
    }
}

#[test]
fn inserts_that_go_on() {
    let cases = [
        (
            "insert into item values (1, 'x', 1, 1) on conflict (id) do nothing",
            0,
            "0: 1,ant,10,3 2,bee,20,0 3,cat,null,7",
        ),
        (
            "insert into item values (1, 'x', 1, 1) on conflict (id) do update set stock = item.stock + excluded.stock",
            0,
            "1: 1,ant,10,4 2,bee,20,0 3,cat,null,7",
        ),
        (
            "insert into item values (1, 'x', 1, 1) on duplicate key update price = values(price)",
            0,
            "1: 1,ant,1,3 2,bee,20,0 3,cat,null,7",
        ),
        (
            "replace into line values (2, 1, 3, 8)",
            1,
            "2: 1,1,1,2 1,2,2,4 2,1,3,8",
        ),
        (
            "insert into tag values (2, 'new')",
            2,
            "1: 1,small 1,red 2,new",
        ),
        (
            "insert into tag select id, name from item where stock > 0",
            2,
            "2: 1,small 1,red 1,ant 3,cat",
        ),
        (
            "insert into log (what) values ('a'), ('b')",
            3,
            "2: 1000001,a 1000002,b",
        ),
    ];
    for (sql, table, expected) in cases {
        assert_eq!(left(sql, table), expected, "{sql}");
    }
}

#[test]
fn writes_return_rows() {
    let returning = returned("insert into log (what) values ('a') returning id");
    assert_eq!(returning, "1000001");
    let returning = returned("update item set stock = stock + 1 where id < 3 returning id, stock");
    assert_eq!(returning, "1,4 2,1");
    let returning = returned("delete from line where o = 1 returning n, qty");
    assert_eq!(returning, "1,2 2,4");
}

/// How a transaction on two tables with a foreign key ends.
fn referring(sql: &str) -> String {
    let source = format!(
        "create table shop (id int primary key);
         create table sale (n int primary key, shop int references shop (id));
         transaction t()\n  {sql};\nend;"
    );
    let program = read_sql_file(&source, "cases.sql", None).expect("a program");
    let int = Value::Integer;
    let row = |table: u32, values: Vec<Value>| StoredRow {
        table: TableId(table),
        values,
    };
    let scenario = Scenario {
        rows: vec![
            row(0, vec![int(1)]),
            row(0, vec![int(2)]),
            row(1, vec![int(7), int(1)]),
        ],
        instances: vec![Instance::default()],
        schedule: Vec::new(),
    };
    let played = play(&program, &scenario, How::Given).expect("it plays");
    let engine = program::Engine::PostgresReadCommitted;
    let simulated = play(&program, &scenario, How::Engine(engine)).expect("it plays");
    let end = |fate: &Fate| match fate {
        Fate::AbortedByStore { message, .. } => message.clone(),
        _ => "done".to_string(),
    };
    let found = end(&played.runs[0].fate);
    let server = end(&simulated.runs[0].fate);
    assert_eq!(
        found == "done",
        server == "done",
        "{sql}: {found}, {server}"
    );
    found
}

#[test]
fn foreign_keys_are_kept() {
    let missing = "foreign key: sale refers to a row of shop that is not there";
    let needed = "foreign key: a row of sale refers to this row of shop";
    let cases = [
        ("insert into sale values (8, 2)", "done"),
        ("insert into sale values (8, 3)", missing),
        ("insert into sale values (8, null)", "done"),
        ("update sale set shop = 9 where n = 7", missing),
        ("update sale set shop = 2 where n = 7", "done"),
        ("delete from shop where id = 2", "done"),
        ("delete from shop where id = 1", needed),
        ("delete from shop", needed),
        ("update shop set id = 3 where id = 1", needed),
        ("update shop set id = 3 where id = 2", "done"),
        ("delete from sale; delete from shop", "done"),
    ];
    for (sql, expected) in cases {
        let found = referring(sql);
        assert!(found.contains(expected), "{sql}: {found}");
    }
}
