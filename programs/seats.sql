-- SEATS: six transactions of an airline's ticket system.
--
-- Specification: the SEATS benchmark (Stonebraker and Pavlo, "The SEATS Airline Ticketing Systems
-- Benchmark"), in the form of OLTP-Bench (Difallah and others, VLDB 2013).
--
-- Differences: attribute columns that no transaction tells apart are left out (of c_sattr00 to 19,
-- c_iattr00 to 19 and the like those remain that a transaction reads or writes); a join with a row
-- known by its key is two statements; FindFlights looks up airline, airports and countries row by
-- row, as in CLOTHO's evaluation (PLDI 2019); UpdateReservation writes one of the four attribute
-- columns. Counters are changed in place (`f_seats_left = f_seats_left - 1`).

create table country (
  co_id int primary key,
  co_name text, co_code_2 text, co_code_3 text
);

create table airport (
  ap_id int primary key,
  ap_code text, ap_name text, ap_city text, ap_longitude real, ap_latitude real,
  ap_co_id int not null references country (co_id)
);

create table airport_distance (
  d_ap_id0 int not null references airport (ap_id),
  d_ap_id1 int not null references airport (ap_id),
  d_distance real,
  primary key (d_ap_id0, d_ap_id1)
);

create table airline (
  al_id int primary key,
  al_name text, al_iattr00 int, al_iattr01 int,
  al_co_id int not null references country (co_id)
);

create table customer (
  c_id int primary key,
  c_id_str text not null unique,
  c_base_ap_id int references airport (ap_id),
  c_balance real not null,
  c_sattr00 text,
  c_iattr00 int, c_iattr01 int,
  c_iattr10 int, c_iattr11 int, c_iattr12 int, c_iattr13 int, c_iattr14 int, c_iattr15 int
);

create table frequent_flyer (
  ff_c_id int not null references customer (c_id),
  ff_al_id int not null references airline (al_id),
  ff_c_id_str text not null,
  ff_iattr00 int, ff_iattr01 int,
  ff_iattr10 int, ff_iattr11 int, ff_iattr12 int, ff_iattr13 int, ff_iattr14 int,
  primary key (ff_c_id, ff_al_id)
);

create table flight (
  f_id int primary key,
  f_al_id int not null references airline (al_id),
  f_depart_ap_id int not null references airport (ap_id),
  f_depart_time timestamp not null,
  f_arrive_ap_id int not null references airport (ap_id),
  f_arrive_time timestamp not null,
  f_status int not null,
  f_base_price real not null,
  f_seats_total int not null,
  f_seats_left int not null
);

create table reservation (
  r_id int not null,
  r_c_id int not null references customer (c_id),
  r_f_id int not null references flight (f_id),
  r_seat int not null,
  r_price real not null,
  r_iattr00 int, r_iattr01 int, r_iattr02 int, r_iattr03 int,
  primary key (r_id, r_c_id, r_f_id),
  unique (r_f_id, r_seat)
);

transaction FindFlights(depart int, arrive int, starts timestamp, ends timestamp, distance real)
  if :distance > 0 then
    select d_ap_id0, d_ap_id1, d_distance from airport_distance
      where d_ap_id0 = :depart and d_distance <= :distance order by d_distance;
  end if;
  for flight in select f_id, f_al_id, f_seats_left, f_depart_ap_id, f_depart_time, f_arrive_ap_id,
                       f_arrive_time
      from flight where f_depart_ap_id = :depart and f_depart_time >= :starts
        and f_depart_time <= :ends and f_arrive_ap_id = :arrive loop
    select al_name, al_iattr00, al_iattr01 from airline where al_id = :flight.f_al_id;
    select ap_code, ap_name, ap_city, ap_longitude, ap_latitude, ap_co_id
      into :code, :name, :city, :longitude, :latitude, :country
      from airport where ap_id = :flight.f_depart_ap_id;
    select co_name, co_code_2, co_code_3 from country where co_id = :country;
  end loop;
end;

transaction FindOpenSeats(f int)
  select f_status, f_base_price, f_seats_total, f_seats_left
    into :status, :price, :total, :left from flight where f_id = :f;
  if not found then abort; end if;
  select r_id, r_f_id, r_seat from reservation where r_f_id = :f;
end;

transaction NewReservation(r int, c int, f int, seat int, price real, a0 int, a1 int, a2 int, a3 int)
  select f_al_id, f_seats_left into :airline, :left from flight where f_id = :f;
  if not found then abort; end if;
  select al_name from airline where al_id = :airline;
  if :left <= 0 then abort; end if;
  select r_id from reservation where r_f_id = :f and r_seat = :seat;
  if found then abort; end if;
  select r_id from reservation where r_f_id = :f and r_c_id = :c;
  if found then abort; end if;
  select c_base_ap_id, c_balance, c_sattr00 from customer where c_id = :c;
  if not found then abort; end if;
  insert into reservation (r_id, r_c_id, r_f_id, r_seat, r_price, r_iattr00, r_iattr01, r_iattr02,
                           r_iattr03)
    values (:r, :c, :f, :seat, :price, :a0, :a1, :a2, :a3);
  update flight set f_seats_left = f_seats_left - 1 where f_id = :f;
  update customer set c_iattr10 = c_iattr10 + 1, c_iattr11 = c_iattr11 + 1, c_iattr12 = :a0,
      c_iattr13 = :a1, c_iattr14 = :a2, c_iattr15 = :a3
    where c_id = :c;
  update frequent_flyer set ff_iattr10 = ff_iattr10 + 1, ff_iattr11 = :a0, ff_iattr12 = :a1,
      ff_iattr13 = :a2, ff_iattr14 = :a3
    where ff_c_id = :c and ff_al_id = :airline;
end;

transaction DeleteReservation(f int, by_string bool, c_given int, c_str text, has_ff bool, ff_airline int)
  let c = :c_given;
  if :by_string then
    select c_id into :named from customer where c_id_str = :c_str;
    if not found then abort; end if;
    let c = :named;
  end if;
  select c_sattr00, c_iattr00, c_balance into :sattr, :iattr, :balance from customer
    where c_id = :c;
  if not found then abort; end if;
  select f_seats_left into :left from flight where f_id = :f;
  if not found then abort; end if;
  select r_id, r_seat, r_price, r_iattr00 into :r, :seat, :price, :attribute
    from reservation where r_c_id = :c and r_f_id = :f;
  if not found then abort; end if;
  delete from reservation where r_id = :r and r_c_id = :c and r_f_id = :f;
  update flight set f_seats_left = f_seats_left + 1 where f_id = :f;
  update customer set c_balance = c_balance - :price, c_iattr00 = :iattr + 1,
      c_iattr10 = c_iattr10 - 1, c_iattr11 = c_iattr11 - 1
    where c_id = :c;
  if :has_ff then
    update frequent_flyer set ff_iattr10 = ff_iattr10 - 1
      where ff_c_id = :c and ff_al_id = :ff_airline;
  end if;
end;

transaction UpdateCustomer(by_string bool, c_given int, c_str text, update_ff bool, a0 int, a1 int)
  let c = :c_given;
  if :by_string then
    select c_id into :named from customer where c_id_str = :c_str;
    if not found then abort; end if;
    let c = :named;
  end if;
  select c_id_str, c_base_ap_id, c_balance, c_sattr00, c_iattr00, c_iattr01
    into :string, :base, :balance, :sattr, :i0, :i1 from customer where c_id = :c;
  if not found then abort; end if;
  select ap_code, ap_name, ap_city, ap_co_id into :code, :name, :city, :country
    from airport where ap_id = :base;
  select co_name from country where co_id = :country;
  if :update_ff then
    for flyer in select ff_al_id, ff_iattr00, ff_iattr01 from frequent_flyer
        where ff_c_id = :c loop
      update frequent_flyer set ff_iattr00 = :a0, ff_iattr01 = :a1
        where ff_c_id = :c and ff_al_id = :flyer.ff_al_id;
    end loop;
  end if;
  update customer set c_iattr00 = :a0, c_iattr01 = :a1 where c_id = :c;
end;

transaction UpdateReservation(r int, f int, c int, seat int, value int)
  select r_id from reservation where r_f_id = :f and r_seat = :seat;
  if found then abort; end if;
  select r_id from reservation where r_f_id = :f and r_c_id = :c;
  if not found then abort; end if;
  update reservation set r_seat = :seat, r_iattr00 = :value
    where r_id = :r and r_c_id = :c and r_f_id = :f;
end;
