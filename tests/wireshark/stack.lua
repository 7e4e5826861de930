-- Names each packet after which Lua's stack is deeper than before: an exception of Wireshark's has left Lua without unwinding it. After about 100
-- of them every call fails with "C stack overflow". Loaded after tickwire.lua.

local stack = Proto("tickwire.stack", "Depth of Lua's stack")
local deepest

function stack.dissector(view, _, tree)
    local depth = 1
    while debug.getinfo(depth, "l") do depth = depth + 1 end
    if depth > (deepest or depth) then
        tree:add(stack, view(), "Lua Error: an exception left " .. depth - deepest .. " functions on the stack")
    end
    deepest = depth
end

register_postdissector(stack)
