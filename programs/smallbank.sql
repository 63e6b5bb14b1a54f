-- SmallBank: five transactions on the accounts of a small bank.
--
-- Specification: Alomari, Cahill, Fekete, Röhm, "The Cost of Serializability on Platforms That Use
-- Snapshot Isolation", ICDE 2008. A customer has a savings and a checking account; transactions get
-- the customer's name and look up the number first.
--
-- As there: a deposit or a withdrawal is one statement `set bal = bal + :v`; WriteCheck reads both
-- balances, decides about a penalty, and then changes the checking account.
-- TransactSavings looks at the balance it has written, and aborts where that is negative.
-- Differences: Amalgamate needs the balances it sets to zero, and reads them `for update`, so that
-- reading and writing a balance stay one atomic step as in the other transactions.

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
  update checking set bal = bal + :v where custid = :c;
end;

transaction TransactSavings(n text, v int)
  select custid into :c from account where name = :n;
  if not found then abort; end if;
  update savings set bal = bal + :v where custid = :c;
  select bal into :left from savings where custid = :c;
  if :left < 0 then abort; end if;
end;

transaction Amalgamate(n1 text, n2 text)
  select custid into :c1 from account where name = :n1;
  if not found then abort; end if;
  select custid into :c2 from account where name = :n2;
  if not found then abort; end if;
  select bal into :s from savings where custid = :c1 for update;
  update savings set bal = 0 where custid = :c1;
  select bal into :k from checking where custid = :c1 for update;
  update checking set bal = 0 where custid = :c1;
  update checking set bal = bal + :s + :k where custid = :c2;
end;

transaction WriteCheck(n text, v int)
  select custid into :c from account where name = :n;
  if not found then abort; end if;
  select bal into :s from savings where custid = :c;
  select bal into :k from checking where custid = :c;
  if :s + :k < :v then
    update checking set bal = bal - (:v + 1) where custid = :c;
  else
    update checking set bal = bal - :v where custid = :c;
  end if;
end;
