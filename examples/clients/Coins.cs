// Plays Coins: walks to the coin, and leaves when it has caught two. With Mono:
//
//     cargo run --example coins
//     cargo run --example coins -- codes --format csharp >examples/clients/CoinsClient.cs
//     cd examples/clients && mcs Coins.cs CoinsClient.cs && mono Coins.exe ws://localhost:3000/play
//
// With .NET, put both files into the folder of `dotnet new console`.

using System;
using System.Linq;
using System.Threading.Tasks;
using Tickwire.Coins;

static class Coins
{
    const int Stop = 0, Up = 1, Right = 2, Down = 3, Left = 4;
    // A runner 14 px away along both axes is within the 20 px at which it gets the coin.
    const int Near = 14;
    const int Wanted = 2;

    static int Main(string[] arguments)
    {
        string url = arguments.Length > 0 ? arguments[0] : "ws://localhost:3000/play";
        try
        {
            Play(url).GetAwaiter().GetResult();
            return 0;
        }
        catch (TickwireException error)
        {
            Console.Error.WriteLine(url + ": " + error.Message);
            return 1;
        }
    }

    static async Task Play(string url)
    {
        using (var game = await Connection.ConnectAsync(url))
        {
            await game.SendAsync(new ToServer.Hello { version = 1, mode = 1, name = "Bo" });
            int? player = null;
            int way = Stop;
            for (int caught = 0; caught < Wanted;)
            {
                Packet packet = await game.ReceiveAsync();
                Console.WriteLine(packet);
                if (packet is ToClient.Spawned) player = ((ToClient.Spawned)packet).player;
                if (packet is ToClient.Caught && ((ToClient.Caught)packet).player == player) caught++;
                int next = packet is ToClient.State ? WayToCoin((ToClient.State)packet, player) : way;
                if (next != way) await game.SendAsync(new ToServer.Go { direction = next });
                way = next;
            }
            await game.CloseAsync();
        }
    }

    /// <summary>The direction in which the player walks next, or Stop without a runner of its own.</summary>
    static int WayToCoin(ToClient.State state, int? player)
    {
        var own = state.runners.FirstOrDefault(one => one.player == player);
        if (own == null) return Stop;
        int dx = state.coinX - own.x, dy = state.coinY - own.y;
        if (Math.Abs(dx) > Near) return dx > 0 ? Right : Left;
        if (Math.Abs(dy) > Near) return dy > 0 ? Down : Up;
        return Stop;
    }
}
