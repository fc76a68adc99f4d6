-- A user opens a script, waits for its findings and saves it twice: what is certain is fixed before it is written.
local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    vim.fn.writefile({ "waited in vain until " .. what }, "failed.txt")
    vim.cmd("cquit")
  end
end

vim.cmd("luafile " .. vim.env.PD_SAVE)
wait("there are findings", function()
  return #vim.diagnostic.get(0) > 0
end)
vim.cmd("write")
vim.cmd("write")
vim.cmd("edit plain.txt")
vim.cmd("write")
vim.cmd("quitall!")
