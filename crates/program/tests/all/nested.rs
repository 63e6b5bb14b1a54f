//! Queries inside of statements that make rows of their own. What is expected of each is what PostgreSQL returns for the
//! same rows.

use crate::installed::{Running, start};
use crate::store::{left, returned};
use program::analysis::{Anomaly, Options, analyse};
use program::replay::{Replay, Server, ServerLevel, ServerOptions};
use program::{Appearance, Program, StoreLevel, read_sql_file};

/// Each with its rows.
const CASES: &[(&str, &str)] = &[
    (
        "select d.item, d.total from (select item, sum(qty) as total from line group by item) d order by d.item",
        "1,3 2,4",
    ),
    (
        "select i.name, d.total from item i join (select item, sum(qty) as total from line group by item) d on d.item = i.id order by i.id",
        "ant,3 bee,4",
    ),
    (
        "select i.name, d.total from item i left join (select item, sum(qty) as total from line group by item) d on d.item = i.id order by i.id",
        "ant,3 bee,4 cat,null",
    ),
    (
        "select i.id from item i left join (select item, sum(qty) as total from line group by item) d on d.item = i.id where d.total is null order by i.id",
        "3",
    ),
    (
        "select d.total from (select item, sum(qty) as total from line group by item) d where d.total > 3 order by 1",
        "4",
    ),
    (
        "select d.total from (select item, sum(qty) as total from line group by item) d where d.item = 1",
        "3",
    ),
    (
        "select max(d.total) from (select item, sum(qty) as total from line group by item) d",
        "4",
    ),
    (
        "select count(*) from (select distinct item from line) d",
        "2",
    ),
    (
        "select count(*) from (select item from line where qty > 9) d",
        "0",
    ),
    (
        "select id from (select id from item order by stock limit 2) d where id > 1",
        "2",
    ),
    (
        "select id from (select id, stock from item order by stock limit 2) d order by id",
        "1 2",
    ),
    (
        "with low as (select id from item order by stock limit 2) select name from item, low where item.id = low.id order by name",
        "ant bee",
    ),
    (
        "with s as (select item, count(*) as c from line group by item) select a.item, b.c from s a join s b on a.item = b.item order by 1",
        "1,2 2,1",
    ),
    (
        "select n from (select count(*) as n from line where qty > 100) d",
        "0",
    ),
    (
        "select i.id, d.n from item i, (select count(*) as n from line where qty > 100) d order by i.id",
        "1,0 2,0 3,0",
    ),
    (
        "select id from item where id in (select item from line order by qty desc limit 1)",
        "2",
    ),
    (
        "select id from item where id not in (select item from line order by qty desc limit 1) order by id",
        "1 3",
    ),
    (
        "select id from item where id in (select item from line group by item having count(*) > 1)",
        "1",
    ),
    (
        "select id from item where exists (select item from line where line.item = item.id group by item having sum(qty) > 3)",
        "2",
    ),
    (
        "select id from item where not exists (select 1 from line group by item having sum(qty) > 100) order by id",
        "1 2 3",
    ),
    (
        "select id from item where stock > (select avg(qty) from line)",
        "1 3",
    ),
    (
        "select id from item where price = (select max(price) from item)",
        "2",
    ),
    (
        "select id, (select count(*) from line where line.item = item.id) from item order by id",
        "1,2 2,1 3,0",
    ),
    (
        "select id, (select sum(qty) + 1 from line where line.item = item.id) from item order by id",
        "1,4 2,5 3,null",
    ),
    (
        "select id from item where stock in (select qty + 1 from line) order by id",
        "1",
    ),
    (
        "select id from item where stock not in (select qty + 1 from line) order by id",
        "2 3",
    ),
    (
        "select id from item where (id, stock) in (select item, qty + 1 from line) order by id",
        "1",
    ),
    (
        "select id from item union select item from line order by 1",
        "1 2 3",
    ),
    (
        "select id from item union all select item from line order by 1",
        "1 1 1 2 2 3",
    ),
    (
        "select id from item except select item from line order by 1",
        "3",
    ),
    (
        "select item from line intersect select id from item where stock > 0 order by 1",
        "1",
    ),
    (
        "select id from item where price > 100 union select item from tag",
        "1",
    ),
    (
        "select count(*) from (select id from item union all select item from line) d",
        "6",
    ),
    (
        "select id from item where id in (select item from line union select item from tag) order by id",
        "1 2",
    ),
    (
        "select id from item where id in (select l.item from line l join tag t on t.item = l.item) order by id",
        "1",
    ),
    (
        "select id from item where exists (select 1 from line l, tag t where t.item = l.item and l.item = item.id)",
        "1",
    ),
    (
        "select i.id, l.n from item i left join line l on l.item = i.id and l.qty > 3 order by i.id, l.n",
        "1,null 2,2 3,null",
    ),
    (
        "select i.id from item i left join line l on l.item = i.id where l.item is null order by i.id",
        "3",
    ),
    (
        "select i.id, l.qty from item i left join line l on l.item = i.id where l.qty > 1 order by i.id",
        "1,2 2,4",
    ),
    (
        "select i.id, coalesce(l.qty, 0) from item i left join line l on l.item = i.id and l.o = 2 where coalesce(l.qty, 0) < 2 order by i.id",
        "1,1 2,0 3,0",
    ),
    (
        "select i.id, l.n from line l right join item i on l.item = i.id and l.o = 2 order by i.id",
        "1,1 2,null 3,null",
    ),
    (
        "select i.id from item i join line l on l.item = i.id where exists (select 1 from tag t where t.item = l.item and l.qty > 1)",
        "1",
    ),
    (
        "select a.id from item a, item b where b.stock < a.stock and exists (select 1 from line l where l.item = b.id) and b.id = 2 order by a.id",
        "1 3",
    ),
    (
        "select item from (select item, qty from line order by qty desc limit 1 offset 1) d",
        "1",
    ),
    (
        "select x from (select (select max(qty) from line l where l.item = i.id) as x from item i) d order by x",
        "2 4 null",
    ),
    (
        "select s.item from (select item, sum(qty) as q from line group by item) s where s.q = (select max(t.q) from (select item, sum(qty) as q from line group by item) t)",
        "2",
    ),
    (
        "select count(*), sum(d.c) from (select item, count(*) as c from line group by item having count(*) > 1) d",
        "1,2",
    ),
    (
        "select o, (select count(*) from (select distinct item from line m where m.o = line.o) d) from line group by o order by o",
        "1,2 2,1",
    ),
];

#[test]
fn queries_inside_make_their_own_rows() {
    for (sql, expected) in CASES {
        assert_eq!(returned(sql), *expected, "{sql}");
    }
}

/// An insert takes the rows that its query has, not those of its tables.
#[test]
fn writes_take_the_rows_of_queries() {
    let cases = [
        (
            "insert into tag select item, 'sold' from line group by item",
            2,
            "2: 1,small 1,red 1,sold 2,sold",
        ),
        (
            "insert into tag select id, 'low' from item order by stock limit 1",
            2,
            "1: 1,small 1,red 2,low",
        ),
        (
            "insert into tag select item, word from tag union all select id, name from item where id = 3",
            2,
            "3: 1,small 1,red 1,small 1,red 3,cat",
        ),
        (
            "update item set stock = stock - d.q from (select item, sum(qty) as q from line group by item) d where d.item = item.id",
            0,
            "2: 1,ant,10,0 2,bee,20,-4 3,cat,null,7",
        ),
        (
            "update item set price = (select count(*) from line where line.item = item.id)",
            0,
            "3: 1,ant,2,3 2,bee,1,0 3,cat,0,7",
        ),
        (
            "delete from line where o in (select o from line group by o having count(*) > 1)",
            1,
            "2: 2,1,1,1",
        ),
        (
            "update item set stock = 0 where id = (select id from item where stock > 0 order by id desc limit 1)",
            0,
            "1: 1,ant,10,3 2,bee,20,0 3,cat,null,0",
        ),
    ];
    for (sql, table, expected) in cases {
        assert_eq!(left(sql, table), expected, "{sql}");
    }
}

const SHOP: &str = "
create table stock (item int primary key, total int not null);
create table line (id int primary key, item int not null, qty int not null);
";

fn anomalies(transactions: &str, level: StoreLevel) -> (Program, Vec<Anomaly>) {
    let text = format!("{SHOP}{transactions}");
    let program = read_sql_file(&text, "shop.sql", None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.notes, []);
    let options = Options {
        levels: vec![level],
        external: true,
        ..Options::default()
    };
    let found = analyse(&program, &options).anomalies;
    (program, found)
}

/// What is counted of a group of rows that never changes is no anomaly, though rows of its tables come and go.
#[test]
fn groups_that_stay_the_same_are_no_anomaly() {
    let (_, found) = anomalies(
        "transaction add(l int, i int)
           insert into line values (:l, :i, 1);
           insert into line values (:l + 1000, :i, 1);
         end;
         transaction look()
           select count(*) as groups from (select qty from line where qty > 5 group by qty) d;
           select count(*) as groups from (select qty from line where qty > 5 group by qty) d;
         end;",
        StoreLevel::ReadCommitted,
    );
    assert_eq!(found.len(), 0);
}

/// The total of a group is read and written back: a lost update, which servers show and refuse as told.
const TOTALS: &str = "
transaction total(i int)
  select d.q into :q from (select item, sum(qty) as q from line group by item) d where d.item = :i;
  update stock set total = :q where item = :i;
end;
transaction sell(l int, i int, n int)
  insert into line values (:l, :i, :n);
  update stock set total = total + :n where item = :i;
end;";

fn check(running: &Running) {
    let (program, found) = anomalies(TOTALS, StoreLevel::ReadCommitted);
    assert!(!found.is_empty());
    let mut server = Server::open(&running.url, &program.schema, ServerOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    for anomaly in &found {
        let scenario = anomaly.scenario().expect("a scenario");
        for level in [ServerLevel::ReadCommitted, ServerLevel::Serializable] {
            let mut replay = Replay::new(&mut server, &program, scenario);
            let predicted = replay.predict(level);
            let judged = replay.at(level, predicted);
            let judged = judged.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(judged.as_predicted(), Some(true), "{level:?}: {judged:?}");
            let shown = judged.appearance == Appearance::Manifested;
            assert_eq!(shown, level == ServerLevel::ReadCommitted);
        }
    }
}

#[test]
fn totals_of_groups_are_lost_on_postgres() {
    if let Some(running) = start("postgres") {
        check(&running);
    }
}

#[test]
fn totals_of_groups_are_lost_on_mariadb() {
    if let Some(running) = start("mariadb") {
        check(&running);
    }
}
