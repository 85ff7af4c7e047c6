import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { optionsFrom, wrongReason } from "../src/options";

const root = join(__dirname, "..", "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const declared = manifest.contributes.configuration.properties as Record<string, { default: unknown }>;

test("defaults leave everything to the configuration files", () => {
    const options = optionsFrom((name) => declared[`kernlint.${name}`]?.default);
    assert.deepEqual(options, { codeLens: true, asksForReason: true });
});

test("what is set is handed on, and only what the server can read", () => {
    const set: Record<string, unknown> = {
        device: " a100 ",
        select: ["KL1", "", 3],
        extendSelect: "KL611",
        ignore: ["KL201"],
        codeLens: false,
    };
    assert.deepEqual(optionsFrom((name) => set[name]), {
        device: "a100",
        select: ["KL1"],
        ignore: ["KL201"],
        codeLens: false,
        asksForReason: true,
    });
});

test("every setting that is read is declared, and every one that is declared is read", () => {
    const read = new Set<string>(["path", "trace.server"]);
    optionsFrom((name) => {
        read.add(name);
        return undefined;
    });
    assert.deepEqual([...read].map((name) => `kernlint.${name}`).sort(), Object.keys(declared).sort());
});

test("every command that is shown is registered", () => {
    const source = readFileSync(join(root, "src", "extension.ts"), "utf8");
    for (const { command } of manifest.contributes.commands) {
        assert.ok(source.includes(`registerCommand("${command}"`), command);
    }
});

test("a workspace that nobody trusts starts nothing", () => {
    assert.equal(manifest.capabilities.untrustedWorkspaces.supported, false);
});

test("a reason is one line that says something", () => {
    assert.equal(wrongReason("the scales are no powers of two"), undefined);
    assert.match(wrongReason("  ") ?? "", /needs a reason/);
    assert.match(wrongReason("one\ntwo") ?? "", /One line/);
});
