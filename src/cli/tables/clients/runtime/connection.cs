namespace Tickwire.NAMESPACE
{
    using System;
    using System.IO;
    using System.Net.WebSockets;
    using System.Text;
    using System.Threading;
    using System.Threading.Tasks;

    // ---- the connection ---------------------------------------------------------------------------------------------

    /// <summary>A WebSocket to a room. One ReceiveAsync at a time: its WebSocket answers the server's pings only meanwhile.
    /// </summary>
    public sealed class Connection : IDisposable
    {
        /// <summary>Maximum size of a message, against a server that never ends one.</summary>
        const int MaxMessageBytes = 1 << 20;
        readonly ClientWebSocket socket = new ClientWebSocket();
        readonly SemaphoreSlim sending = new SemaphoreSlim(1);
        readonly byte[] buffer = new byte[1 << 16];
        long sequence;

        Connection() { }

        /// <summary>Connects to a room, such as ws://localhost:3000/play or, with TLS, wss://game.example/r/arena/play.
        /// `token` is the player's token, if the server requires one. `key` is 32 hexadecimal digits, chosen at random: a
        /// client that connects again with its key within the server's --resume-seconds resumes its player. Throws
        /// RefusedException.</summary>
        public static async Task<Connection> ConnectAsync(
            string url, string token = null, string key = null, CancellationToken cancel = default(CancellationToken))
        {
            var connection = new Connection();
            connection.socket.Options.AddSubProtocol("tickwire.v1");
            if (key != null) connection.socket.Options.AddSubProtocol("key." + key);
            if (token != null) connection.socket.Options.AddSubProtocol("bearer." + Base64Url(token));
            try
            {
                await connection.socket.ConnectAsync(new Uri(url), cancel);
            }
            catch (WebSocketException error)
            {
                connection.Dispose();
                throw new RefusedException(error);
            }
            return connection;
        }

        /// <summary>Sends a packet. Numbers the commands: sets a `sequence` that is null. Throws WrongArgumentException or
        /// ClosedException.</summary>
        public async Task SendAsync(Packet packet, CancellationToken cancel = default(CancellationToken))
        {
            await sending.WaitAsync(cancel);
            try
            {
                if (packet.Sequence == null) packet.Sequence = sequence + 1;
                var payload = new ArraySegment<byte>(Wire.Encode(packet));
                await socket.SendAsync(payload, WebSocketMessageType.Binary, true, cancel);
                // The server counts a `join` after a death as a command. A gap in the sequence has no effect.
                sequence = packet.Sequence ?? sequence + (packet.Name == "join" ? 1 : 0);
            }
            catch (Exception error) when (IsEnd(error))
            {
                throw Closed(error);
            }
            finally
            {
                sending.Release();
            }
        }

        /// <summary>Receives the next packet. Throws ClosedException. After UnknownPacketException, WrongArgumentException or
        /// MalformedPacketException, the connection continues with the next packet.</summary>
        public async Task<Packet> ReceiveAsync(CancellationToken cancel = default(CancellationToken))
        {
            var message = new MemoryStream();
            WebSocketReceiveResult part;
            do
            {
                try
                {
                    part = await socket.ReceiveAsync(new ArraySegment<byte>(buffer), cancel);
                }
                catch (Exception error) when (IsEnd(error))
                {
                    throw Closed(error);
                }
                if (part.MessageType == WebSocketMessageType.Close)
                {
                    await AnswerClose();
                    throw Closed(null);
                }
                message.Write(buffer, 0, part.Count);
                if (message.Length > MaxMessageBytes) throw new MalformedPacketException("a message of more than " + MaxMessageBytes + " bytes");
            }
            while (!part.EndOfMessage);
            if (part.MessageType == WebSocketMessageType.Text)
                throw new MalformedPacketException("a text message: packets are binary messages");
            return Wire.Decode(message.ToArray());
        }

        /// <summary>Leaves for good: the server removes the player at once.</summary>
        public async Task CloseAsync(CancellationToken cancel = default(CancellationToken))
        {
            try
            {
                await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "", cancel);
            }
            catch (Exception error) when (IsEnd(error))
            {
                // It is closed already.
            }
        }

        public void Dispose()
        {
            socket.Dispose();
        }

        async Task AnswerClose()
        {
            try
            {
                await socket.CloseOutputAsync(socket.CloseStatus ?? WebSocketCloseStatus.NormalClosure, "", CancellationToken.None);
            }
            catch (Exception error) when (IsEnd(error))
            {
                // The server no longer waits for the answer.
            }
        }

        static bool IsEnd(Exception error)
        {
            return error is WebSocketException || error is IOException || error is ObjectDisposedException
                || error is InvalidOperationException;
        }

        ClosedException Closed(Exception inner)
        {
            if (socket.CloseStatus == null) return new ClosedException(1006, "without a close frame", inner);
            return new ClosedException((int)socket.CloseStatus, socket.CloseStatusDescription ?? "", inner);
        }

        static string Base64Url(string text)
        {
            return Convert.ToBase64String(Encoding.UTF8.GetBytes(text)).TrimEnd('=').Replace('+', '-').Replace('/', '_');
        }
    }
}
