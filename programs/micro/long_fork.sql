-- Long fork: transactions that read two rows see two independent writes in different orders.
--
-- After the micro-benchmarks of CLOTHO (PLDI 2019).

create table accounts (id int primary key, value int not null);

transaction two_reads(k1 int, k2 int)
  select value into :v from accounts where id = :k1;
  select value into :w from accounts where id = :k2;
end;

transaction one_write(k int, amount int)
  update accounts set value = :amount where id = :k;
end;
