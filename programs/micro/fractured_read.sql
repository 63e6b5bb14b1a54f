-- Fractured read: a transaction writes two rows, another sees one of the writes and not the other.
--
-- Definition: Bailis and others, "Scalable Atomic Visibility with RAMP Transactions", SIGMOD 2014.

create table accounts (id int primary key, value int not null);

transaction two_writes(k1 int, k2 int, amount int)
  update accounts set value = :amount where id = :k1;
  update accounts set value = :amount where id = :k2;
end;

transaction two_reads(k1 int, k2 int)
  select value into :v from accounts where id = :k1;
  select value into :w from accounts where id = :k2;
end;
