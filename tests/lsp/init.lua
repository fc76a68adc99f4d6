vim.api.nvim_create_autocmd("FileType", {
  pattern = { "sh", "bash", "yaml", "json", "python", "systemd", "dockerfile", "make" },
  callback = function(event)
    local config = { name = "pd-launch", cmd = { "pd-launch", "lsp" }, root_dir = vim.fn.getcwd() }
    if vim.lsp.start then
      vim.lsp.start(config)
    else -- Neovim 0.7
      pd_launch = pd_launch or vim.lsp.start_client(config)
      vim.lsp.buf_attach_client(event.buf, pd_launch)
    end
  end,
})
