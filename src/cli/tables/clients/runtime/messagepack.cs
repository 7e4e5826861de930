namespace Tickwire.NAMESPACE
{
    using System;
    using System.Collections.Generic;
    using System.Globalization;
    using System.IO;
    using System.Text;

    // ---- MessagePack ------------------------------------------------------------------------------------------------

    /// <summary>Writes values in the shortest form. A number without a fraction is an integer.</summary>
    sealed class MessagePackWriter
    {
        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);
        readonly MemoryStream bytes = new MemoryStream();

        internal byte[] Bytes { get { return bytes.ToArray(); } }

        internal static bool IsUnicode(string text)
        {
            try { return Utf8.GetByteCount(text) >= 0; }
            catch (EncoderFallbackException) { return false; }
        }

        internal void Write(object value)
        {
            value = Codec.Whole(value);
            var list = value as List<object>;
            var map = value as List<KeyValuePair<string, object>>;
            if (value == null) Byte(0xc0);
            else if (value is bool) Byte((bool)value ? 0xc3 : 0xc2);
            else if (value is double) Number(0xcb, (ulong)BitConverter.DoubleToInt64Bits((double)value), 8);
            else if (value is string) Text((string)value);
            else if (value is byte[]) Binary((byte[])value);
            else if (list != null)
            {
                Head(list.Count, 0x90, 16, 0xdc);
                list.ForEach(Write);
            }
            else if (map != null)
            {
                Head(map.Count, 0x80, 16, 0xde);
                foreach (var pair in map)
                {
                    Text(pair.Key);
                    Write(pair.Value);
                }
            }
            else Integer(Convert.ToInt64(value, CultureInfo.InvariantCulture));
        }

        void Integer(long value)
        {
            if (value >= 0)
            {
                if (value < 0x80) Byte((int)value);
                else if (value <= 0xff) Number(0xcc, (ulong)value, 1);
                else if (value <= 0xffff) Number(0xcd, (ulong)value, 2);
                else if (value <= 0xffffffff) Number(0xce, (ulong)value, 4);
                else Number(0xcf, (ulong)value, 8);
            }
            else if (value >= -32) Byte((int)(value & 0xff));
            else if (value >= sbyte.MinValue) Number(0xd0, (ulong)value, 1);
            else if (value >= short.MinValue) Number(0xd1, (ulong)value, 2);
            else if (value >= int.MinValue) Number(0xd2, (ulong)value, 4);
            else Number(0xd3, (ulong)value, 8);
        }

        void Text(string text)
        {
            byte[] content = Utf8.GetBytes(text);
            if (content.Length > 31 && content.Length <= 0xff) Number(0xd9, (ulong)content.Length, 1);
            else Head(content.Length, 0xa0, 32, 0xda);
            bytes.Write(content, 0, content.Length);
        }

        void Binary(byte[] content)
        {
            if (content.Length <= 0xff) Number(0xc4, (ulong)content.Length, 1);
            else Head(content.Length, 0, 0, 0xc5);
            bytes.Write(content, 0, content.Length);
        }

        /// <summary>A length in the first byte if it is below `few`, otherwise in 2 or 4 bytes.</summary>
        void Head(int length, int fixedHead, int few, int wideHead)
        {
            if (length < few) Byte(fixedHead | length);
            else if (length <= 0xffff) Number(wideHead, (ulong)length, 2);
            else Number(wideHead + 1, (ulong)length, 4);
        }

        void Number(int head, ulong value, int width)
        {
            Byte(head);
            while (width-- > 0) Byte((int)(value >> 8 * width) & 0xff);
        }

        void Byte(int value) { bytes.WriteByte((byte)value); }
    }

    /// <summary>Reads one value: null, bool, long, double, string, byte[], a list of values, or a list of pairs.</summary>
    sealed class MessagePackReader
    {
        const int MaxDepth = 8;
        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);
        readonly byte[] bytes;
        int at;

        internal MessagePackReader(byte[] bytes) { this.bytes = bytes; }

        internal object ReadAll()
        {
            object value = Read(0);
            if (at < bytes.Length) throw new MalformedPacketException((bytes.Length - at) + " bytes follow the value");
            return value;
        }

        object Read(int depth)
        {
            if (depth > MaxDepth) throw new MalformedPacketException("the message is nested too deep");
            uint head = (uint)Number(1);
            if (head < 0x80) return (long)head;
            if (head < 0x90) return Map(head & 0x0f, depth);
            if (head < 0xa0) return List(head & 0x0f, depth);
            if (head < 0xc0) return Text(head & 0x1f);
            if (head >= 0xe0) return (long)(sbyte)head;
            switch (head)
            {
                case 0xc0: return null;
                case 0xc2: return false;
                case 0xc3: return true;
                case 0xc4: return Take(Number(1));
                case 0xc5: return Take(Number(2));
                case 0xc6: return Take(Number(4));
                case 0xca: return (double)BitConverter.ToSingle(BitConverter.GetBytes((uint)Number(4)), 0);
                case 0xcb: return BitConverter.Int64BitsToDouble((long)Number(8));
                case 0xcc: return (long)Number(1);
                case 0xcd: return (long)Number(2);
                case 0xce: return (long)Number(4);
                case 0xcf: return Unsigned(Number(8));
                case 0xd0: return (long)(sbyte)Number(1);
                case 0xd1: return (long)(short)Number(2);
                case 0xd2: return (long)(int)Number(4);
                case 0xd3: return (long)Number(8);
                case 0xd9: return Text(Number(1));
                case 0xda: return Text(Number(2));
                case 0xdb: return Text(Number(4));
                case 0xdc: return List(Number(2), depth);
                case 0xdd: return List(Number(4), depth);
                case 0xde: return Map(Number(2), depth);
                case 0xdf: return Map(Number(4), depth);
                default: throw new MalformedPacketException("the byte " + head.ToString("x2") + " at byte " + (at - 1) + " begins no value");
            }
        }

        static object Unsigned(ulong value) { return value <= long.MaxValue ? (object)(long)value : (double)value; }

        List<object> List(ulong count, int depth)
        {
            var list = new List<object>();
            for (ulong index = 0; index < count; index++) list.Add(Read(depth + 1));
            return list;
        }

        List<KeyValuePair<string, object>> Map(ulong count, int depth)
        {
            var map = new List<KeyValuePair<string, object>>();
            for (ulong index = 0; index < count; index++)
            {
                var key = Read(depth + 1) as string;
                if (key == null) throw new MalformedPacketException("a map key is not text");
                map.Add(new KeyValuePair<string, object>(key, Read(depth + 1)));
            }
            return map;
        }

        string Text(ulong length)
        {
            byte[] content = Take(length);
            try { return Utf8.GetString(content); }
            catch (DecoderFallbackException) { throw new MalformedPacketException("text is not UTF-8"); }
        }

        ulong Number(int width)
        {
            ulong value = 0;
            foreach (byte one in Take((ulong)width)) value = value << 8 | one;
            return value;
        }

        byte[] Take(ulong length)
        {
            if (length > (ulong)(bytes.Length - at)) throw new MalformedPacketException("the message ends within a value");
            var taken = new byte[length];
            Array.Copy(bytes, at, taken, 0, (int)length);
            at += (int)length;
            return taken;
        }
    }
}
