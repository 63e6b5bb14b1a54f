-- Dirty read: one transaction writes a row twice, another reads it, perhaps in between.
--
-- After the micro-benchmarks of CLOTHO (PLDI 2019).

create table accounts (id int primary key, value int not null);

transaction two_writes(k int)
  update accounts set value = 1 where id = :k;
  update accounts set value = 2 where id = :k;
end;

transaction one_read(k int)
  select value into :v from accounts where id = :k;
end;
