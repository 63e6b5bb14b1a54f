-- Auction: bidders search for bids and place their own.
--
-- Specification: Vandevoort, Ketsman, Koch, Neven, "Detecting Robustness against MVRC for
-- Transaction Programs with Predicate Reads", EDBT 2023, the running example. Every call is
-- counted with the buyer; a buyer has one bid; every placed bid goes to the log.
--
-- Difference: the number of the log's row is a parameter instead of a function that makes one.

create table buyer (
  id int primary key,
  calls int not null
);

create table bids (
  buyer_id int primary key references buyer (id),
  bid int not null
);

create table log (
  id int primary key,
  buyer_id int not null references buyer (id),
  bid int not null
);

transaction FindBids(b int, threshold int)
  update buyer set calls = calls + 1 where id = :b;
  select bid from bids where bid >= :threshold;
end;

transaction PlaceBid(b int, v int, log_id int)
  update buyer set calls = calls + 1 where id = :b;
  select bid into :current from bids where buyer_id = :b;
  if :current < :v then
    update bids set bid = :v where buyer_id = :b;
  end if;
  insert into log (id, buyer_id, bid) values (:log_id, :b, :v);
end;
