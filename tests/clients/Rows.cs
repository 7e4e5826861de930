// Decodes and encodes each row of rows.tsv with the generated clients in C#.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading.Tasks;
using Coins = Tickwire.Coins;
using Shapes = Tickwire.Shapes;

static class Rows
{
    static int passed, failed;
    static readonly SortedDictionary<int, Shapes.ToClient.Entities.EnterRecord> entities =
        new SortedDictionary<int, Shapes.ToClient.Entities.EnterRecord>();
    static readonly SortedDictionary<int, Shapes.ToClient.Movers.EnterRecord> movers =
        new SortedDictionary<int, Shapes.ToClient.Movers.EnterRecord>();
    /// <summary>The tick of the last packet with movers.</summary>
    static long? tick;

    static int Main(string[] arguments)
    {
        foreach (string line in File.ReadAllLines(arguments[0]).Skip(1))
        {
            string[] row = line.Split('\t');
            string wanted = row[2].StartsWith("!") ? row[2] : row[2] + " " + row[4];
            string[] got = row[0] == "coins" ? OfCoins(row) : OfShapes(row);
            Expect(row[2] + " " + row[3] + " " + row[5], got[0], wanted);
            if (got.Length > 1) Expect(wanted, got[1], row[3]);
            if (got.Length > 1 && row[5] != "") Expect("entities", got[2], row[5]);
        }
        WrongValues();
        Ends(arguments[1]).GetAwaiter().GetResult();
        Console.WriteLine(passed + " passed, " + failed + " failed");
        return failed == 0 ? 0 : 1;
    }

    static void Expect(string what, string got, string wanted)
    {
        if (got == wanted) passed++;
        else failed++;
        if (got != wanted) Console.WriteLine("FAILED  " + what + "\n  expected " + wanted + "\n  got      " + got);
    }

    static string[] OfCoins(string[] row)
    {
        var packet = row[1] == "to_server" ? Coins.Wire.Decode(Unhex(row[3]), Coins.ToServer.Create) : Coins.Wire.Decode(Unhex(row[3]));
        return new[] { packet.ToString(), Hex(Coins.Wire.Encode(packet)) };
    }

    static string[] OfShapes(string[] row)
    {
        Shapes.Packet packet;
        try
        {
            bool isUp = row[1] == "to_server";
            packet = isUp ? Shapes.Wire.Decode(Unhex(row[3]), Shapes.ToServer.Create) : Shapes.Wire.Decode(Unhex(row[3]));
        }
        catch (Shapes.MalformedPacketException) { return new[] { "!malformed_packet" }; }
        catch (Shapes.UnknownPacketException) { return new[] { "!unknown_packet" }; }
        catch (Shapes.WrongArgumentException) { return new[] { "!wrong_argument" }; }
        var bytes = Hex(Shapes.Wire.Encode(packet));
        var text = packet.ToString();
        return new[] { text, bytes, string.Join(", ", Apply(packet)) };
    }

    /// <summary>The known entities after a packet of their list. The records of `enter` become the entities, which later
    /// packets change.</summary>
    static IEnumerable<string> Apply(Shapes.Packet packet)
    {
        var moves = packet as Shapes.ToClient.Movers;
        if (moves != null)
        {
            moves.Apply(movers, tick);
            tick = moves.tick;
            return movers.Values.Select(one => string.Join(" ", one.id, one.x, one.vx, one.y, one.vy, one.z, one.vz));
        }
        var changes = packet as Shapes.ToClient.Entities;
        if (changes == null) return new string[0];
        changes.Apply(entities);
        return entities.Values.Select(one => one.id + " " + one.name + " " + one.x + " " + (one.@is ? "true" : "false"));
    }

    /// <summary>Packets that the encoder rejects, with its message.</summary>
    static void WrongValues()
    {
        Rejects(new Coins.ToServer.Go { sequence = 1, direction = 5 }, "go.direction is 5: must be a whole number from 0 to 4");
        Rejects(new Coins.ToServer.Go { sequence = 1, direction = -1 }, "go.direction is -1: must be a whole number from 0 to 4");
        Rejects(new Coins.ToServer.Go(), "go.sequence is null: must be a whole number from 0 to 4294967295");
        Rejects(new Coins.ToServer.Hello { name = new string('x', 16) },
            "hello.name is \"xxxxxxxxxxxxxxxx\": must be text of at most 15 characters");
        Rejects(new Coins.ToServer.Hello { name = "\ud83d" }, "hello.name is \"\ud83d\": must be text of at most 15 characters");
        var state = new Coins.ToClient.State();
        state.runners.Add(new Coins.ToClient.State.RunnersRecord());
        state.runners.Add(new Coins.ToClient.State.RunnersRecord { name = null });
        Rejects(state, "state.runners[1].name is null: must be text of at most 15 characters");
        state.runners = null;
        Rejects(state, "state.runners is null: must be not null");
    }

    static void Rejects(Coins.Packet packet, string wanted)
    {
        string got = "no error";
        try { Coins.Wire.Encode(packet); }
        catch (Coins.WrongArgumentException error) { got = error.Message; }
        Expect(packet.Name, got, wanted);
    }

    /// <summary>A closed connection has the code and the reason.</summary>
    static async Task Ends(string url)
    {
        using (var game = await Coins.Connection.ConnectAsync(url))
        {
            await game.SendAsync(new Coins.ToServer.Hello { version = 2 });
            Expect("wrong version", await ErrorOf(game.ReceiveAsync()), "ClosedException 1008 hello_version");
            Expect("after the end", await ErrorOf(game.SendAsync(new Coins.ToServer.Ping())), "ClosedException 1008 hello_version");
        }
        using (var game = await Coins.Connection.ConnectAsync(url))
        {
            await game.CloseAsync();
            await game.CloseAsync();
            Expect("own close", await ErrorOf(game.ReceiveAsync()), "ClosedException 1000 ");
        }
        Expect("unknown path", await ErrorOf(Coins.Connection.ConnectAsync(url + "er")), "RefusedException");
    }

    static async Task<string> ErrorOf(Task call)
    {
        try { await call; }
        catch (Coins.ClosedException error) { return "ClosedException " + error.Code + " " + error.Reason; }
        catch (Coins.TickwireException error) { return error.GetType().Name; }
        return "no error";
    }

    static byte[] Unhex(string hex)
    {
        return Enumerable.Range(0, hex.Length / 2).Select(at => Convert.ToByte(hex.Substring(2 * at, 2), 16)).ToArray();
    }

    static string Hex(byte[] bytes) { return string.Concat(bytes.Select(one => one.ToString("x2"))); }
}
