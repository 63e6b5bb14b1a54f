-- Voter: one transaction, a vote by phone in a talent show.
--
-- Specification: the Voter benchmark as distributed with VoltDB and OLTP-Bench (Difallah and
-- others, VLDB 2013): a call is valid if the contestant exists and the phone number has not used up
-- its votes; the state comes from the area code.
--
-- The limit is a count of earlier votes, so two calls at once can exceed it.
-- Difference: votes have their number as primary key, and the area code is a parameter rather than
-- the number divided by 10,000,000.

create table contestants (
  contestant_number int primary key,
  contestant_name text not null
);

create table area_code_state (
  area_code int primary key,
  state text not null
);

create table votes (
  vote_id int primary key,
  phone_number int not null,
  state text not null,
  contestant_number int not null references contestants (contestant_number),
  created timestamp not null
);

transaction Vote(vote_id int, phone int, area int, contestant int, most int, at timestamp)
  select contestant_number from contestants where contestant_number = :contestant;
  if not found then abort; end if;
  select count(*) into :votes from votes where phone_number = :phone;
  if :votes >= :most then abort; end if;
  select state into :state from area_code_state where area_code = :area;
  if not found then
    let state = 'XX';
  end if;
  insert into votes (vote_id, phone_number, state, contestant_number, created)
    values (:vote_id, :phone, :state, :contestant, :at);
end;
