/** The client library of the editor against a real server, without the editor. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import {
    createProtocolConnection,
    type CodeAction,
    type FullDocumentDiagnosticReport,
    type InitializeResult,
    StreamMessageReader,
    StreamMessageWriter,
} from "vscode-languageserver-protocol/node";

import { optionsFrom } from "../src/options";
import { complaint, probe, serverCommand } from "../src/server";

const candidates = [process.env["KERNLINT_PYTHON"] ?? "", join(__dirname, "..", "..", "..", "..", ".venv", "bin", "python")];
const python = candidates.find((path) => path !== "" && existsSync(path));

const KERNEL = `import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, 100), 0)
`;

test(
    "a kernel is opened, judged, suppressed and closed",
    { skip: python === undefined && "KERNLINT_PYTHON names no Python with kernlint[lsp]", timeout: 180_000 },
    async (context) => {
        const wrong = complaint(python!, await probe(python!));
        if (wrong !== undefined) {
            context.skip(wrong);
            return;
        }
        const folder = mkdtempSync(join(tmpdir(), "kernlint-"));
        const { command, args, cwd } = serverCommand([], python);
        const server: ChildProcess = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
        const ended = new Promise<number | null>((resolve) => server.on("exit", resolve));
        const connection = createProtocolConnection(
            new StreamMessageReader(server.stdout!),
            new StreamMessageWriter(server.stdin!),
        );
        let edit: unknown;
        connection.onRequest("workspace/applyEdit", (params: { edit: unknown }) => {
            edit = params.edit;
            return { applied: true };
        });
        connection.listen();
        try {
            const uri = pathToFileURL(join(folder, "k.py")).toString();
            const answer = await connection.sendRequest<InitializeResult>("initialize", {
                processId: process.pid,
                rootUri: pathToFileURL(folder).toString(),
                capabilities: { textDocument: { diagnostic: {} } },
                initializationOptions: optionsFrom(() => undefined),
            });
            assert.ok(answer.capabilities.diagnosticProvider);
            assert.ok(answer.capabilities.codeLensProvider);
            await connection.sendNotification("initialized", {});
            await connection.sendNotification("textDocument/didOpen", {
                textDocument: { uri, languageId: "python", version: 1, text: KERNEL },
            });
            const report = await connection.sendRequest<FullDocumentDiagnosticReport>("textDocument/diagnostic", {
                textDocument: { uri },
            });
            const found = report.items.find((item) => item.code === "KL705");
            assert.equal(found?.range.start.line, 6);
            const actions = await connection.sendRequest<CodeAction[]>("textDocument/codeAction", {
                textDocument: { uri },
                range: found!.range,
                context: { diagnostics: [] },
            });
            const suppress = actions.find((action) => action.command?.command === "kernlint.askReason");
            const [of, fingerprint] = suppress!.command!.arguments as string[];
            assert.equal(of, uri);
            await connection.sendRequest("workspace/executeCommand", {
                command: "kernlint.suppress",
                arguments: [uri, fingerprint, "because"],
            });
            assert.match(JSON.stringify(edit), /# kernlint: ignore\[KL705\] because/);
            await connection.sendRequest("shutdown");
            await connection.sendNotification("exit");
            assert.equal(await ended, 0);
        } finally {
            connection.dispose();
            server.kill();
            rmSync(folder, { recursive: true });
        }
    },
);
