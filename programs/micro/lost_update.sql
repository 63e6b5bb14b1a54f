-- Lost update: a transaction reads a row and writes back what it computed from it.
--
-- After the micro-benchmarks of CLOTHO (PLDI 2019).

create table accounts (id int primary key, value int not null);

transaction deposit(k int, amount int)
  select value into :v from accounts where id = :k;
  update accounts set value = :v + :amount where id = :k;
end;
