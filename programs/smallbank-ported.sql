-- SmallBank as five transactions that read a balance, compute, and write the result back.
--
-- Specification: as smallbank.sql (Alomari and others, ICDE 2008), written in the way in which
-- CLOTHO's evaluation (PLDI 2019) has it: its language has no `set bal = bal + :v`, so every
-- change of a balance is a select and an update.

create table account (
  name text primary key,
  custid int not null
);

create table savings (
  custid int primary key,
  bal int not null
);

create table checking (
  custid int primary key,
  bal int not null
);

transaction Balance(n text)
  select custid into :c from account where name = :n;
  if not found then abort; end if;
  select bal into :s from savings where custid = :c;
  select bal into :k from checking where custid = :c;
end;

transaction DepositChecking(n text, v int)
  require :v >= 0;
  select custid into :c from account where name = :n;
  if not found then abort; end if;
  select bal into :k from checking where custid = :c;
  update checking set bal = :k + :v where custid = :c;
end;

transaction TransactSavings(n text, v int)
  select custid into :c from account where name = :n;
  if not found then abort; end if;
  select bal into :s from savings where custid = :c;
  if :s + :v < 0 then abort; end if;
  update savings set bal = :s + :v where custid = :c;
end;

transaction Amalgamate(n1 text, n2 text)
  select custid into :c1 from account where name = :n1;
  if not found then abort; end if;
  select custid into :c2 from account where name = :n2;
  if not found then abort; end if;
  select bal into :s from savings where custid = :c1;
  select bal into :k from checking where custid = :c1;
  update savings set bal = 0 where custid = :c1;
  update checking set bal = 0 where custid = :c1;
  select bal into :k2 from checking where custid = :c2;
  update checking set bal = :k2 + :s + :k where custid = :c2;
end;

transaction WriteCheck(n text, v int)
  select custid into :c from account where name = :n;
  if not found then abort; end if;
  select bal into :s from savings where custid = :c;
  select bal into :k from checking where custid = :c;
  if :s + :k < :v then
    update checking set bal = :k - (:v + 1) where custid = :c;
  else
    update checking set bal = :k - :v where custid = :c;
  end if;
end;
