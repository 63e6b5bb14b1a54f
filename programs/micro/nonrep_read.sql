-- Non-repeatable read: one transaction reads a row twice, another writes it.
--
-- After the micro-benchmarks of CLOTHO (PLDI 2019), which call it dirty_write.

create table accounts (id int primary key, value int not null);

transaction two_reads(k int)
  select value into :v from accounts where id = :k;
  select value into :w from accounts where id = :k;
end;

transaction one_write(k int, amount int)
  update accounts set value = :amount where id = :k;
end;
