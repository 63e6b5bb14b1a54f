-- Voter without its limit: the variant in CLOTHO's evaluation (PLDI 2019).
--
-- Specification: as voter.sql, but the count of earlier votes of a phone number is left out. What
-- remains is an insert of a new row after look-ups of rows that nothing changes: no anomaly.

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

transaction Vote(vote_id int, phone int, area int, contestant int, at timestamp)
  select contestant_number from contestants where contestant_number = :contestant;
  if not found then abort; end if;
  select state into :state from area_code_state where area_code = :area;
  if found then
    insert into votes (vote_id, phone_number, state, contestant_number, created)
      values (:vote_id, :phone, :state, :contestant, :at);
  else
    insert into votes (vote_id, phone_number, state, contestant_number, created)
      values (:vote_id, :phone, 'XX', :contestant, :at);
  end if;
end;
