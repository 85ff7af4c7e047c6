import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { complaint, probe, serverCommand } from "../src/server";

test("the program that the user names is run", () => {
    assert.deepEqual(serverCommand(["/opt/kernlint"], "/venv/bin/python"), { command: "/opt/kernlint", args: ["server"] });
    assert.deepEqual(serverCommand(["uvx", "--from", "kernlint[lsp]", "kernlint"], undefined), {
        command: "uvx",
        args: ["--from", "kernlint[lsp]", "kernlint", "server"],
    });
});

test("else that of the selected environment, in whose folder nobody has put modules of the workspace", () => {
    assert.deepEqual(serverCommand([" "], "/venv/bin/python"), {
        command: "/venv/bin/python",
        args: ["-m", "kernlint", "server"],
        cwd: "/venv/bin",
    });
});

test("else the one that is found", () => {
    assert.deepEqual(serverCommand([], undefined), { command: "kernlint", args: ["server"] });
});

test("what is missing is named with the command that brings it", () => {
    const python = "/home/me/envs/triton/bin/python";
    assert.equal(complaint(python, "kernlint lsp"), undefined);
    assert.match(complaint(python, "nothing no-lsp") ?? "", /not installed .* \(triton\): pip install 'kernlint\[lsp\]'/);
    assert.match(complaint(python, "nothing lsp") ?? "", /not installed/);
    assert.match(complaint(python, "kernlint no-lsp") ?? "", /cannot speak to editors: pip install 'kernlint\[lsp\]'/);
    assert.match(complaint(python, undefined) ?? "", /cannot be run/);
});

test("an interpreter that is none is survived", { skip: process.platform === "win32" && "needs a shell script" }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "kernlint-"));
    try {
        assert.equal(await probe(join(folder, "no-python")), undefined);
        const hanging = join(folder, "hanging");
        writeFileSync(hanging, "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
        assert.equal(await probe(hanging, 200), undefined);
        const other = join(folder, "other");
        writeFileSync(other, "#!/bin/sh\necho something else\n", { mode: 0o755 });
        assert.match(complaint(other, await probe(other)) ?? "", /not installed/);
    } finally {
        rmSync(folder, { recursive: true });
    }
});
