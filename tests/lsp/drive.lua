-- What a user does, step by step; what was seen goes into seen.json.
local seen = {}

local function codes()
  local found = {}
  for _, one in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, { code = one.code or (one.user_data or {}).lsp.code, line = one.lnum, column = one.col })
  end
  return found
end

local function has(code)
  for _, one in ipairs(codes()) do
    if one.code == code then
      return one
    end
  end
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    seen.failed = "waited in vain until " .. what
    seen.last = codes()
    vim.fn.writefile({ vim.fn.json_encode(seen) }, "seen.json")
    vim.cmd("cquit")
  end
end

wait("there are findings", function()
  return has("PD001") ~= nil
end)
seen.opened = codes()

vim.api.nvim_win_set_cursor(0, { has("PD001").line + 1, has("PD001").column })
local hover = vim.lsp.buf_request_sync(0, "textDocument/hover", vim.lsp.util.make_position_params(0, "utf-16"), 60000)
for _, answer in pairs(hover) do
  seen.hover = answer.result and answer.result.contents.value
end

-- The user's choice in the menu that code_action() shows, of every version of Neovim.
local wanted
vim.ui.select = function(items, _, choose)
  for _, item in ipairs(items) do
    local action = item.action or item[2]
    if action.title:find(wanted, 1, true) then
      return choose(item, 1)
    end
  end
  choose(nil, nil)
end

local function act(title, kind)
  wanted = title
  local context = { only = { kind }, diagnostics = vim.lsp.diagnostic.get_line_diagnostics() }
  vim.lsp.buf.code_action(vim.fn.has("nvim-0.8") == 1 and { context = context } or context)
end

act("(PD001)", "quickfix")
wait("the quick fix is made", function()
  return #vim.tbl_filter(function(one)
    return one.code == "PD001"
  end, codes()) == 1
end)
seen.fixed = codes()

act("pd-launch: apply all fixes", "source.fixAll")
wait("all is fixed", function()
  return #codes() == 0
end)
vim.cmd("write")
seen.saved = codes()
vim.fn.writefile({ vim.fn.json_encode(seen) }, "seen.json")
vim.cmd("quitall!")
