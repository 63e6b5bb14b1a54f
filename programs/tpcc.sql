-- TPC-C: the five transactions of a wholesale supplier.
--
-- Specification: TPC Benchmark C, Standard Specification, revision 5.11 (Transaction Processing
-- Performance Council), clauses 1.3 (tables) and 2.4 to 2.8 (transactions). What is read and changed
-- in one step is one statement: `update … set d_next_o_id = d_next_o_id + 1 … returning …`.
--
-- As the specification allows (2.7.2), Delivery is one transaction for one district; the oldest
-- undelivered order is the one with the least number.
-- Differences: columns that no transaction uses are left out (streets, phones, most of s_dist_01 to
-- 10, of which s_dist stands for the one of the district); of several customers with one last name
-- the first by first name is taken instead of the middle one; the 1% of orders with an item that
-- does not exist abort at the first missing item.

create table warehouse (
  w_id int primary key,
  w_name text,
  w_tax real,
  w_ytd real
);

create table district (
  d_w_id int not null references warehouse (w_id),
  d_id int not null,
  d_name text,
  d_tax real,
  d_ytd real,
  d_next_o_id int,
  primary key (d_w_id, d_id)
);

create table customer (
  c_w_id int not null,
  c_d_id int not null,
  c_id int not null,
  c_first text,
  c_last text,
  c_credit text,
  c_discount real,
  c_balance real,
  c_ytd_payment real,
  c_payment_cnt int,
  c_delivery_cnt int,
  c_data text,
  primary key (c_w_id, c_d_id, c_id),
  foreign key (c_w_id, c_d_id) references district (d_w_id, d_id)
);

create table history (
  h_id serial primary key,
  h_c_id int,
  h_c_d_id int,
  h_c_w_id int,
  h_d_id int,
  h_w_id int,
  h_date timestamp,
  h_amount real,
  h_data text,
  foreign key (h_c_w_id, h_c_d_id, h_c_id) references customer (c_w_id, c_d_id, c_id),
  foreign key (h_w_id, h_d_id) references district (d_w_id, d_id)
);

create table orders (
  o_w_id int not null,
  o_d_id int not null,
  o_id int not null,
  o_c_id int,
  o_entry_d timestamp,
  o_carrier_id int,
  o_ol_cnt int,
  o_all_local int,
  primary key (o_w_id, o_d_id, o_id),
  foreign key (o_w_id, o_d_id, o_c_id) references customer (c_w_id, c_d_id, c_id)
);

create table new_order (
  no_w_id int not null,
  no_d_id int not null,
  no_o_id int not null,
  primary key (no_w_id, no_d_id, no_o_id),
  foreign key (no_w_id, no_d_id, no_o_id) references orders (o_w_id, o_d_id, o_id)
);

create table item (
  i_id int primary key,
  i_name text,
  i_price real,
  i_data text
);

create table stock (
  s_w_id int not null references warehouse (w_id),
  s_i_id int not null references item (i_id),
  s_quantity int,
  s_dist text,
  s_ytd int,
  s_order_cnt int,
  s_remote_cnt int,
  s_data text,
  primary key (s_w_id, s_i_id)
);

create table order_line (
  ol_w_id int not null,
  ol_d_id int not null,
  ol_o_id int not null,
  ol_number int not null,
  ol_i_id int,
  ol_supply_w_id int,
  ol_delivery_d timestamp,
  ol_quantity int,
  ol_amount real,
  ol_dist_info text,
  primary key (ol_w_id, ol_d_id, ol_o_id, ol_number),
  foreign key (ol_w_id, ol_d_id, ol_o_id) references orders (o_w_id, o_d_id, o_id),
  foreign key (ol_supply_w_id, ol_i_id) references stock (s_w_id, s_i_id)
);

-- What always holds between transactions: the consistency conditions of clause 3.3.2 (cr1 to cr12, by
-- the number of the sub-clause), and what serial runs preserve besides (ncr, numbered as in the CLOTHO
-- paper, table 3). Each select finds what breaks it: where, and by how much. An outcome lists what only
-- the transactions that ran decide: it must be what some order of them leaves.
-- invariant cr1: select w_id, w_ytd - (select sum(d_ytd) from district where d_w_id = w_id)
--   from warehouse where w_ytd <> (select sum(d_ytd) from district where d_w_id = w_id);
-- invariant cr2: select d_w_id, d_id,
--     d_next_o_id - (select max(o_id) from orders where o_w_id = d_w_id and o_d_id = d_id),
--     d_next_o_id - (select max(no_o_id) from new_order where no_w_id = d_w_id and no_d_id = d_id)
--   from district
--   where d_next_o_id - 1 <> (select max(o_id) from orders where o_w_id = d_w_id and o_d_id = d_id)
--     or d_next_o_id - 1 <> (select max(no_o_id) from new_order where no_w_id = d_w_id and no_d_id = d_id);
-- invariant cr3: select no_w_id, no_d_id, max(no_o_id) - min(no_o_id) + 1 - count(*) from new_order
--   group by no_w_id, no_d_id having max(no_o_id) - min(no_o_id) + 1 <> count(*);
-- invariant cr4: select d_w_id, d_id,
--     (select sum(o_ol_cnt) from orders where o_w_id = d_w_id and o_d_id = d_id)
--       - (select count(ol_number) from order_line where ol_w_id = d_w_id and ol_d_id = d_id)
--   from district
--   where (select sum(o_ol_cnt) from orders where o_w_id = d_w_id and o_d_id = d_id)
--     <> (select count(ol_number) from order_line where ol_w_id = d_w_id and ol_d_id = d_id);
-- invariant cr5a: select no_w_id, no_d_id, no_o_id from new_order where not exists
--     (select o_id from orders where o_w_id = no_w_id and o_d_id = no_d_id and o_id = no_o_id
--       and o_carrier_id is null);
-- invariant cr5b: select o_w_id, o_d_id, o_id from orders where o_carrier_id is null and not exists
--     (select no_o_id from new_order where no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id);
-- invariant cr6: select o_w_id, o_d_id, o_id, o_ol_cnt - (select count(ol_number) from order_line
--       where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id)
--   from orders where o_ol_cnt <> (select count(ol_number) from order_line
--       where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id);
-- invariant cr7a: select ol_w_id, ol_d_id, ol_o_id, ol_number from order_line, orders
--   where o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
--     and ol_delivery_d is null and o_carrier_id is not null;
-- invariant cr7b: select ol_w_id, ol_d_id, ol_o_id, ol_number from order_line, orders
--   where o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
--     and ol_delivery_d is not null and o_carrier_id is null;
-- invariant cr8: select w_id, w_ytd - (select sum(h_amount) from history where h_w_id = w_id)
--   from warehouse where w_ytd <> (select sum(h_amount) from history where h_w_id = w_id);
-- invariant cr9: select d_w_id, d_id,
--     d_ytd - (select sum(h_amount) from history where h_w_id = d_w_id and h_d_id = d_id)
--   from district
--   where d_ytd <> (select sum(h_amount) from history where h_w_id = d_w_id and h_d_id = d_id);
-- invariant cr10: select c_w_id, c_d_id, c_id, c_balance
--     - coalesce((select sum(ol_amount) from order_line, orders
--         where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and o_carrier_id is not null
--           and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id), 0)
--     + coalesce((select sum(h_amount) from history
--         where h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id), 0)
--   from customer where c_balance
--     <> coalesce((select sum(ol_amount) from order_line, orders
--         where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and o_carrier_id is not null
--           and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id), 0)
--     - coalesce((select sum(h_amount) from history
--         where h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id), 0);
-- invariant cr11: select d_w_id, d_id,
--     (select count(o_id) from orders
--       where o_w_id = d_w_id and o_d_id = d_id and o_carrier_id is null)
--       - (select count(no_o_id) from new_order where no_w_id = d_w_id and no_d_id = d_id)
--   from district
--   where (select count(o_id) from orders
--       where o_w_id = d_w_id and o_d_id = d_id and o_carrier_id is null)
--     <> (select count(no_o_id) from new_order where no_w_id = d_w_id and no_d_id = d_id);
-- invariant cr12: select c_w_id, c_d_id, c_id, c_balance + c_ytd_payment
--     - coalesce((select sum(ol_amount) from order_line, orders
--         where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and o_carrier_id is not null
--           and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id), 0)
--   from customer where c_balance + c_ytd_payment
--     <> coalesce((select sum(ol_amount) from order_line, orders
--         where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and o_carrier_id is not null
--           and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id), 0);
-- invariant ncr1: select s_w_id, s_i_id, s_ytd - coalesce((select sum(ol_quantity) from order_line
--       where ol_supply_w_id = s_w_id and ol_i_id = s_i_id), 0)
--   from stock where s_ytd <> coalesce((select sum(ol_quantity) from order_line
--       where ol_supply_w_id = s_w_id and ol_i_id = s_i_id), 0);
-- invariant ncr2: select s_w_id, s_i_id, s_order_cnt - (select count(ol_number) from order_line
--       where ol_supply_w_id = s_w_id and ol_i_id = s_i_id)
--   from stock where s_order_cnt <> (select count(ol_number) from order_line
--       where ol_supply_w_id = s_w_id and ol_i_id = s_i_id);
-- outcome ncr3: select c_w_id, c_d_id, c_id, c_balance + c_ytd_payment from customer;
-- invariant ncr4: select c_w_id, c_d_id, c_id, c_payment_cnt - (select count(h_id) from history
--       where h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id)
--   from customer where c_payment_cnt <> (select count(h_id) from history
--       where h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id);
-- invariant ncr5: select c_w_id, c_d_id, c_id, c_delivery_cnt - (select count(o_id) from orders
--       where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and o_carrier_id is not null)
--   from customer where c_delivery_cnt <> (select count(o_id) from orders
--       where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and o_carrier_id is not null);
-- outcome ncr6: select o_w_id, o_d_id, o_carrier_id, count(*) from orders
--   where o_carrier_id is not null group by o_w_id, o_d_id, o_carrier_id;
-- invariant ncr7: select c_w_id, c_d_id, c_id, c_ytd_payment - (select sum(h_amount) from history
--       where h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id)
--   from customer where c_ytd_payment <> (select sum(h_amount) from history
--       where h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id);

transaction NewOrder(w int, d int, c int, items int[], supplier int, quantity int, lines int, local int, now timestamp)
  select c_discount, c_last, c_credit into :discount, :last, :credit
    from customer where c_w_id = :w and c_d_id = :d and c_id = :c;
  select w_tax into :w_tax from warehouse where w_id = :w;
  update district set d_next_o_id = d_next_o_id + 1 where d_w_id = :w and d_id = :d
    returning d_next_o_id, d_tax into :next, :d_tax;
  let o = :next - 1;
  insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (:w, :d, :o, :c, :now, null, :lines, :local);
  insert into new_order (no_w_id, no_d_id, no_o_id) values (:w, :d, :o);
  let number = 0;
  for i in :items loop
    let number = :number + 1;
    select i_price, i_name, i_data into :price, :name, :i_data from item where i_id = :i;
    if not found then abort; end if;
    update stock set
        s_quantity = case when s_quantity >= :quantity + 10 then s_quantity - :quantity
                          else s_quantity - :quantity + 91 end,
        s_ytd = s_ytd + :quantity,
        s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + case when :supplier = :w then 0 else 1 end
      where s_w_id = :supplier and s_i_id = :i
      returning s_quantity, s_dist, s_data into :left, :info, :s_data;
    insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
                            ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      values (:w, :d, :o, :number, :i, :supplier, null, :quantity, :quantity * :price, :info);
  end loop;
end;

transaction Payment(w int, d int, c_w int, c_d int, by_name bool, c_given int, name text, amount real, now timestamp)
  update warehouse set w_ytd = w_ytd + :amount where w_id = :w returning w_name into :w_name;
  update district set d_ytd = d_ytd + :amount where d_w_id = :w and d_id = :d
    returning d_name into :d_name;
  let c = :c_given;
  if :by_name then
    select c_id into :found_id from customer
      where c_w_id = :c_w and c_d_id = :c_d and c_last = :name order by c_first limit 1;
    if not found then abort; end if;
    let c = :found_id;
  end if;
  update customer set c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount,
      c_payment_cnt = c_payment_cnt + 1
    where c_w_id = :c_w and c_d_id = :c_d and c_id = :c
    returning c_first, c_last, c_credit, c_discount, c_balance
    into :first, :last, :credit, :discount, :balance;
  if :credit = 'BC' then
    select c_data into :data from customer where c_w_id = :c_w and c_d_id = :c_d and c_id = :c;
    update customer set c_data = :name || :data
      where c_w_id = :c_w and c_d_id = :c_d and c_id = :c;
  end if;
  insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (:c, :c_d, :c_w, :d, :w, :now, :amount, :w_name || :d_name);
end;

transaction OrderStatus(w int, d int, by_name bool, c_given int, name text)
  let c = :c_given;
  if :by_name then
    select c_id, c_first, c_last, c_balance into :found_id, :first, :last, :balance from customer
      where c_w_id = :w and c_d_id = :d and c_last = :name order by c_first limit 1;
    if not found then abort; end if;
    let c = :found_id;
  else
    select c_first, c_last, c_balance into :first, :last, :balance from customer
      where c_w_id = :w and c_d_id = :d and c_id = :c;
  end if;
  select o_id, o_entry_d, o_carrier_id into :o, :entry, :carrier from orders
    where o_w_id = :w and o_d_id = :d and o_c_id = :c order by o_id desc limit 1;
  if found then
    select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
      where ol_w_id = :w and ol_d_id = :d and ol_o_id = :o;
  end if;
end;

transaction Delivery(w int, d int, carrier int, now timestamp)
  select no_o_id into :o from new_order
    where no_w_id = :w and no_d_id = :d order by no_o_id limit 1;
  if not found then return; end if;
  delete from new_order where no_w_id = :w and no_d_id = :d and no_o_id = :o;
  select o_c_id into :c from orders where o_w_id = :w and o_d_id = :d and o_id = :o;
  update orders set o_carrier_id = :carrier where o_w_id = :w and o_d_id = :d and o_id = :o;
  update order_line set ol_delivery_d = :now
    where ol_w_id = :w and ol_d_id = :d and ol_o_id = :o;
  select sum(ol_amount) into :total from order_line
    where ol_w_id = :w and ol_d_id = :d and ol_o_id = :o;
  update customer set c_balance = c_balance + :total, c_delivery_cnt = c_delivery_cnt + 1
    where c_w_id = :w and c_d_id = :d and c_id = :c;
end;

transaction StockLevel(w int, d int, threshold int)
  select d_next_o_id into :next from district where d_w_id = :w and d_id = :d;
  select count(distinct s.s_i_id) into :low from order_line ol, stock s
    where ol.ol_w_id = :w and ol.ol_d_id = :d and ol.ol_o_id < :next and ol.ol_o_id >= :next - 20
      and s.s_w_id = :w and s.s_i_id = ol.ol_i_id and s.s_quantity < :threshold;
end;
