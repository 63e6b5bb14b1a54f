-- TATP: the Telecommunication Application Transaction Processing benchmark, seven transactions on a
-- home location register.
--
-- Specification: IBM, "Telecommunication Application Transaction Processing (TATP) Benchmark
-- Description", version 1.0, 2009.
--
-- Differences: of the subscriber's bit, hex and byte2 columns the first two of each kind stand for
-- all ten (the transactions read all of them or write bit_1). GetNewDestination is one join, as in
-- the description. The description's look-ups by sub_nbr are by a UNIQUE column.

create table subscriber (
  s_id int primary key,
  sub_nbr text not null unique,
  bit_1 int, bit_2 int,
  hex_1 int, hex_2 int,
  byte2_1 int, byte2_2 int,
  msc_location int,
  vlr_location int
);

create table access_info (
  s_id int not null references subscriber (s_id),
  ai_type int not null,
  data1 int, data2 int, data3 text, data4 text,
  primary key (s_id, ai_type)
);

create table special_facility (
  s_id int not null references subscriber (s_id),
  sf_type int not null,
  is_active int not null,
  error_cntrl int, data_a int, data_b text,
  primary key (s_id, sf_type)
);

create table call_forwarding (
  s_id int not null,
  sf_type int not null,
  start_time int not null,
  end_time int,
  numberx text,
  primary key (s_id, sf_type, start_time),
  foreign key (s_id, sf_type) references special_facility (s_id, sf_type)
);

transaction GetSubscriberData(s int)
  select s_id, sub_nbr, bit_1, bit_2, hex_1, hex_2, byte2_1, byte2_2, msc_location, vlr_location
    from subscriber where s_id = :s;
end;

transaction GetNewDestination(s int, sf int, starts int, ends int)
  select cf.numberx from special_facility sf, call_forwarding cf
    where sf.s_id = :s and sf.sf_type = :sf and sf.is_active = 1
      and cf.s_id = sf.s_id and cf.sf_type = sf.sf_type
      and cf.start_time <= :starts and cf.end_time > :ends;
end;

transaction GetAccessData(s int, ai int)
  select data1, data2, data3, data4 from access_info where s_id = :s and ai_type = :ai;
end;

transaction UpdateSubscriberData(s int, bit int, sf int, a int)
  update subscriber set bit_1 = :bit where s_id = :s;
  update special_facility set data_a = :a where s_id = :s and sf_type = :sf;
end;

transaction UpdateLocation(nbr text, location int)
  update subscriber set vlr_location = :location where sub_nbr = :nbr;
end;

transaction InsertCallForwarding(nbr text, sf int, starts int, ends int, target text)
  select s_id into :s from subscriber where sub_nbr = :nbr;
  if not found then abort; end if;
  select sf_type from special_facility where s_id = :s;
  insert into call_forwarding (s_id, sf_type, start_time, end_time, numberx)
    values (:s, :sf, :starts, :ends, :target);
end;

transaction DeleteCallForwarding(nbr text, sf int, starts int)
  select s_id into :s from subscriber where sub_nbr = :nbr;
  if not found then abort; end if;
  delete from call_forwarding where s_id = :s and sf_type = :sf and start_time = :starts;
end;
