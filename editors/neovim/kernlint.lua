-- Neovim 0.11 or newer: put this file into ~/.config/nvim/lsp/ and say vim.lsp.enable("kernlint") in init.lua.
-- `kernlint` is the one on the PATH, so that of the active virtual environment: pip install 'kernlint[lsp]'

return {
  cmd = { "kernlint", "server" },
  filetypes = { "python", "markdown" },
  root_markers = { "kernlint.toml", "pyproject.toml", ".git" },
  init_options = {
    -- device = "a100",
    -- select = { "KL1", "KL7" },
    -- suppressReason = "measured, see the pull request",
  },
  on_attach = function(client, buffer)
    if client:supports_method("textDocument/codeLens") then
      local function refresh()
        vim.lsp.codelens.refresh({ bufnr = buffer })
      end
      refresh()
      vim.api.nvim_create_autocmd({ "BufEnter", "InsertLeave", "BufWritePost" }, { buffer = buffer, callback = refresh })
    end
  end,
}
