//! SmallBank and an order-entry program, searched; every candidate checked by z3 where it is there.

use crate::z3::Candidates;
use program::analysis::{Analysis, Options, analyse, analyse_with};
use program::{EdgeKind, Program, StoreLevel, read_sql_file};
use std::collections::BTreeSet;

fn program(text: &str) -> Program {
    match read_sql_file(text, "bank.sql", None) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

/// The five transactions of Alomari et al. (ICDE 2008), updates read and then written.
const SMALL_BANK: &str = "
create table accounts (custid int primary key, name text not null unique);
create table savings (custid int primary key references accounts, bal int not null);
create table checking (custid int primary key references accounts, bal int not null);

transaction balance(n text)
  select custid into :c from accounts where name = :n;
  require found;
  select bal into :s from savings where custid = :c;
  select bal into :k from checking where custid = :c;
end;

transaction deposit_checking(n text, v int)
  require :v >= 0;
  select custid into :c from accounts where name = :n;
  require found;
  update checking set bal = bal + :v where custid = :c;
end;

transaction transact_savings(n text, v int)
  select custid into :c from accounts where name = :n;
  require found;
  select bal into :s from savings where custid = :c;
  require :s + :v >= 0;
  update savings set bal = :s + :v where custid = :c;
end;

transaction amalgamate(n1 text, n2 text)
  select custid into :c1 from accounts where name = :n1;
  require found;
  select custid into :c2 from accounts where name = :n2;
  require found;
  select bal into :s from savings where custid = :c1;
  select bal into :k from checking where custid = :c1;
  update savings set bal = 0 where custid = :c1;
  update checking set bal = 0 where custid = :c1;
  update checking set bal = bal + :s + :k where custid = :c2;
end;

transaction write_check(n text, v int)
  select custid into :c from accounts where name = :n;
  require found;
  select bal into :s from savings where custid = :c;
  select bal into :k from checking where custid = :c;
  if :s + :k < :v then
    update checking set bal = :k - :v - 1 where custid = :c;
  else
    update checking set bal = :k - :v where custid = :c;
  end if;
end;
";

/// Orders, their payment and their delivery, after the public description of TPC-C.
const ORDERS: &str = "
create table warehouse (w_id int primary key, w_tax int not null, w_ytd int not null);
create table district (d_w_id int references warehouse, d_id int, d_tax int not null,
  d_ytd int not null, d_next_o_id int not null, primary key (d_w_id, d_id));
create table customer (c_w_id int, c_d_id int, c_id int, c_balance int not null,
  c_payment_cnt int not null, primary key (c_w_id, c_d_id, c_id),
  foreign key (c_w_id, c_d_id) references district (d_w_id, d_id));
create table orders (o_w_id int, o_d_id int, o_id int, o_c_id int not null, o_carrier int,
  primary key (o_w_id, o_d_id, o_id));
create table new_order (no_w_id int, no_d_id int, no_o_id int, primary key (no_w_id, no_d_id, no_o_id));
create table stock (s_w_id int, s_i_id int, s_quantity int not null, primary key (s_w_id, s_i_id));
create table order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int not null,
  ol_amount int not null, primary key (ol_w_id, ol_d_id, ol_o_id, ol_number));

transaction enter(w int, d int, c int, items int[], amount int)
  select w_tax into :wt from warehouse where w_id = :w;
  select d_tax, d_next_o_id into :dt, :o from district where d_w_id = :w and d_id = :d;
  require found;
  update district set d_next_o_id = :o + 1 where d_w_id = :w and d_id = :d;
  insert into orders (o_w_id, o_d_id, o_id, o_c_id) values (:w, :d, :o, :c);
  insert into new_order values (:w, :d, :o);
  for i in :items loop
    select s_quantity into :q from stock where s_w_id = :w and s_i_id = :i;
    require found;
    update stock set s_quantity = :q - 1 where s_w_id = :w and s_i_id = :i;
    insert into order_line values (:w, :d, :o, :i, :i, :amount);
  end loop;
end;

transaction pay(w int, d int, c int, amount int)
  select w_ytd into :wy from warehouse where w_id = :w;
  update warehouse set w_ytd = :wy + :amount where w_id = :w;
  select d_ytd into :dy from district where d_w_id = :w and d_id = :d;
  update district set d_ytd = :dy + :amount where d_w_id = :w and d_id = :d;
  select c_balance, c_payment_cnt into :b, :n from customer
    where c_w_id = :w and c_d_id = :d and c_id = :c;
  update customer set c_balance = :b - :amount, c_payment_cnt = :n + 1
    where c_w_id = :w and c_d_id = :d and c_id = :c;
end;
";

/// The delivery of the oldest order.
const DELIVERY: &str = "
transaction deliver(w int, d int, carrier int)
  select min(no_o_id) into :o from new_order where no_w_id = :w and no_d_id = :d;
  require :o is not null;
  delete from new_order where no_w_id = :w and no_d_id = :d and no_o_id = :o;
  select o_c_id into :c from orders where o_w_id = :w and o_d_id = :d and o_id = :o;
  update orders set o_carrier = :carrier where o_w_id = :w and o_d_id = :d and o_id = :o;
  select sum(ol_amount) into :total from order_line
    where ol_w_id = :w and ol_d_id = :d and ol_o_id = :o;
  select c_balance into :b from customer where c_w_id = :w and c_d_id = :d and c_id = :c;
  update customer set c_balance = :b + :total where c_w_id = :w and c_d_id = :d and c_id = :c;
end;
";

fn names(program: &Program, analysis: &Analysis) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for anomaly in &analysis.anomalies {
        let name = |at: &usize| program.transactions[*at].name.clone();
        let mut names: Vec<String> = anomaly.transactions.iter().map(name).collect();
        names.sort();
        found.insert(names);
    }
    found
}

#[test]
fn order_entry_is_serializable_at_snapshot_isolation() {
    let program = program(ORDERS);
    let options = Options {
        levels: vec![StoreLevel::Snapshot],
        external: true,
        ..Options::default()
    };
    let analysis = analyse(&program, &options);
    assert_eq!(
        names(&program, &analysis),
        BTreeSet::new(),
        "{:?}",
        analysis.counts
    );
    assert!(analysis.scope.decided, "{:?}", analysis.counts);
}

#[test]
fn order_entry_loses_updates_on_a_weak_store() {
    let program = program(ORDERS);
    let analysis = analyse(&program, &Options::default());
    let found = names(&program, &analysis);
    for pair in [["pay", "pay"], ["enter", "enter"]] {
        let pair: Vec<String> = pair.map(String::from).to_vec();
        assert!(found.contains(&pair), "{pair:?} of {found:?}");
    }
    assert!(analysis.anomalies.iter().all(|anomaly| anomaly.internal));
    assert!(!analysis.groups.is_empty());
}

#[test]
fn z3_decides_the_same() {
    for text in [SMALL_BANK.to_string(), format!("{ORDERS}{DELIVERY}")] {
        let program = program(&text);
        let mut candidates = Candidates::new(&program, usize::MAX, 1);
        let options = Options {
            levels: vec![
                StoreLevel::Snapshot,
                StoreLevel::ReadCommitted,
                StoreLevel::Eventual,
            ],
            kinds: vec![
                EdgeKind::WriteRead,
                EdgeKind::ReadWrite,
                EdgeKind::WriteWrite,
            ],
            external: true,
            length: 3,
            ..Options::default()
        };
        analyse_with(&program, &options, &mut candidates);
        assert!(candidates.ours.len() > 20);
        if candidates.compare("bank").is_none() {
            return;
        }
    }
}
