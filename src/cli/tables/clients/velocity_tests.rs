//! The method `apply` of an entity list with velocities in each language.

use super::{Language, print};
use crate::packet::PacketTables;

/// A list with differences of ids and of a velocity, a velocity that is wider than its field in C#,
/// and an argument with the name of a local.
const TABLE: &str = "\
direction	name	lane	small:str	arguments	meaning
to_client	units	latest	u	tick:u32.tick turned:[did:u16,vx:i16.fix4] ticks:[id:u16,dvx:i8.fix4,vin:u32.fix4]|nil moved:[id:u16,dx:i8.fix4]|nil enter:[id:u16,x:i32.fix4,in:i32.fix4,vx:i16.fix4,vin:u32.fix4]|nil leave:[u16]|nil	
";

#[test]
fn entities_advance_and_a_new_velocity_replaces_the_last_move() {
    let tables = PacketTables::from_texts(&[("t.tsv", TABLE)]).expect("a valid table");
    let dialect = tables.default_dialect().expect("a dialect");
    for (language, expected) in
        [(Language::Python, PYTHON), (Language::Csharp, CSHARP), (Language::Gdscript, GDSCRIPT)]
    {
        let text = print(dialect, language);
        let first_line = expected.trim_start_matches('\n').lines().next().expect("a line");
        let at = text.rfind(first_line).expect("the method");
        assert_eq!(text[at..].trim_end(), expected.trim_matches('\n'));
    }
}

const PYTHON: &str = r##"
        def apply(self, entities, last_tick):
            """Applies the packet to a dict of the known entities by id, which is empty at `welcome`.

            `last_tick` is the tick of the previous packet of this list, None for the first one after `welcome`.
            Entities first advance by their velocities. A changed velocity applies to the last tick already."""
            ticks = 0 if last_tick is None else max(self.tick - last_tick, 0)
            for one in entities.values():
                one.x += one.vx * ticks
                one.in_ += one.vin * ticks
            for entity in self.leave or ():
                entities.pop(entity, None)
            for one in self.enter or ():
                entities[one.id] = one
            entity = 0
            for change in self.turned:
                entity += change.did
                one = known(entities, entity, "units.turned")
                one.x -= one.vx
                one.vx = change.vx
                one.x += one.vx
            for change in self.ticks or ():
                one = known(entities, change.id, "units.ticks")
                one.x -= one.vx
                one.vx += change.dvx
                one.x += one.vx
                one.in_ -= one.vin
                one.vin = change.vin
                one.in_ += one.vin
            for change in self.moved or ():
                one = known(entities, change.id, "units.moved")
                one.x += change.dx
"##;

const CSHARP: &str = r##"
            /// <summary>Applies the packet to the known entities by id, which are empty at `welcome`.</summary>
            /// <remarks>
            /// `lastTick` is the tick of the previous packet of this list, null for the first one after `welcome`.
            /// Entities first advance by their velocities. A changed velocity applies to the last tick already.
            /// </remarks>
            public void Apply(IDictionary<int, EnterRecord> entities, long? lastTick)
            {
                long ticks = lastTick < tick ? tick - lastTick.Value : 0;
                foreach (var one in entities.Values)
                {
                    one.x += (int)(one.vx * ticks);
                    one.@in += (int)(one.vin * ticks);
                }
                foreach (var entity in leave ?? new List<int>()) entities.Remove(entity);
                foreach (var one in enter ?? new List<EnterRecord>()) entities[one.id] = one;
                int number;
                number = 0;
                foreach (var change in turned)
                {
                    number += change.did;
                    var known = Wire.Known(entities, number, "units.turned");
                    known.x -= known.vx;
                    known.vx = change.vx;
                    known.x += known.vx;
                }
                foreach (var change in this.ticks ?? new List<TicksRecord>())
                {
                    var known = Wire.Known(entities, change.id, "units.ticks");
                    known.x -= known.vx;
                    known.vx += change.dvx;
                    known.x += known.vx;
                    known.@in -= (int)known.vin;
                    known.vin = change.vin;
                    known.@in += (int)known.vin;
                }
                foreach (var change in moved ?? new List<MovedRecord>())
                {
                    var known = Wire.Known(entities, change.id, "units.moved");
                    known.x += change.dx;
                }
            }
        }
    }
}
"##;

const GDSCRIPT: &str = r##"
		# Applies the packet to the known entities by id, which are empty at `welcome`.
		# `last_tick` is the tick of the previous packet of this list, -1 for the first one after `welcome`.
		# Entities first advance by their velocities. A changed velocity applies to the last tick already.
		func apply(entities: Dictionary, last_tick: int) -> void:
			var ticks: int = tick - last_tick if 0 <= last_tick and last_tick < tick else 0
			for one in entities.values():
				one.x += one.vx * ticks
				one.in_ += one.vin * ticks
			for entity in (leave if leave != null else []):
				entities.erase(entity)
			for one in (enter if enter != null else []):
				entities[one.id] = one
			var number := 0
			number = 0
			for change in turned:
				number += change.did
				if not entities.has(number):
					push_error("units.turned names an unknown entity: clear the entities at `welcome`")
					continue
				entities[number].x -= entities[number].vx
				entities[number].vx = change.vx
				entities[number].x += entities[number].vx
			for change in (self.ticks if self.ticks != null else []):
				if not entities.has(change.id):
					push_error("units.ticks names an unknown entity: clear the entities at `welcome`")
					continue
				entities[change.id].x -= entities[change.id].vx
				entities[change.id].vx += change.dvx
				entities[change.id].x += entities[change.id].vx
				entities[change.id].in_ -= entities[change.id].vin
				entities[change.id].vin = change.vin
				entities[change.id].in_ += entities[change.id].vin
			for change in (moved if moved != null else []):
				if not entities.has(change.id):
					push_error("units.moved names an unknown entity: clear the entities at `welcome`")
					continue
				entities[change.id].x += change.dx
"##;
