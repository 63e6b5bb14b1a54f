-- SmallBank with six transactions, in the variant of OLTP-Bench and BenchBase.
--
-- Specification: the SmallBank benchmark of the BenchBase collection (Difallah and others,
-- "OLTP-Bench", VLDB 2013): accounts have the customer's number as key and a unique name; there is
-- a sixth transaction SendPayment; balances are read first and written afterwards.
--
-- As there, and unlike ICDE 2008: Amalgamate empties the checking account of the first customer and
-- puts the sum into the savings account of the second.
-- Differences: CLOTHO's evaluation (PLDI 2019) has every change of a balance as a select and an
-- update, and so has this file; BenchBase itself writes `bal = bal + ?` after reading.

create table accounts (
  custid int primary key,
  name text not null unique
);

create table savings (
  custid int primary key references accounts (custid),
  bal int not null
);

create table checking (
  custid int primary key references accounts (custid),
  bal int not null
);

transaction Amalgamate(c0 int, c1 int)
  select name from accounts where custid = :c0;
  if not found then abort; end if;
  select name from accounts where custid = :c1;
  if not found then abort; end if;
  select bal into :s0 from savings where custid = :c0;
  if not found then abort; end if;
  select bal into :k0 from checking where custid = :c0;
  if not found then abort; end if;
  update checking set bal = 0 where custid = :c0;
  select bal into :s1 from savings where custid = :c1;
  if not found then abort; end if;
  update savings set bal = :s1 + :s0 + :k0 where custid = :c1;
end;

transaction Balance(n text)
  select custid into :c from accounts where name = :n;
  if not found then abort; end if;
  select bal into :s from savings where custid = :c;
  if not found then abort; end if;
  select bal into :k from checking where custid = :c;
  if not found then abort; end if;
end;

transaction DepositChecking(n text, v int)
  select custid into :c from accounts where name = :n;
  if not found then abort; end if;
  select bal into :k from checking where custid = :c;
  if not found then abort; end if;
  update checking set bal = :k + :v where custid = :c;
end;

transaction SendPayment(sender int, receiver int, v int)
  select name from accounts where custid = :sender;
  if not found then abort; end if;
  select name from accounts where custid = :receiver;
  if not found then abort; end if;
  select bal into :k0 from checking where custid = :sender;
  if not found then abort; end if;
  if :k0 < :v then abort; end if;
  update checking set bal = :k0 - :v where custid = :sender;
  select bal into :k1 from checking where custid = :receiver;
  if not found then abort; end if;
  update checking set bal = :k1 + :v where custid = :receiver;
end;

transaction TransactSavings(n text, v int)
  select custid into :c from accounts where name = :n;
  if not found then abort; end if;
  select bal into :s from savings where custid = :c;
  if not found then abort; end if;
  if :s - :v < 0 then abort; end if;
  update savings set bal = :s - :v where custid = :c;
end;

transaction WriteCheck(n text, v int)
  select custid into :c from accounts where name = :n;
  if not found then abort; end if;
  select bal into :s from savings where custid = :c;
  if not found then abort; end if;
  select bal into :k from checking where custid = :c;
  if not found then abort; end if;
  if :s + :k < :v then
    update checking set bal = :k - (:v + 1) where custid = :c;
  else
    update checking set bal = :k - :v where custid = :c;
  end if;
end;
