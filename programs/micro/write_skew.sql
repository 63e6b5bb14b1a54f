-- Write skew: a transaction reads one row and, depending on it, writes another.
--
-- After the micro-benchmarks of CLOTHO (PLDI 2019).

create table accounts (id int primary key, value int not null);

transaction withdraw(k1 int, k2 int, amount int)
  select value into :v from accounts where id = :k1;
  if :v + :amount < 1000 then
    update accounts set value = :amount where id = :k2;
  end if;
end;
