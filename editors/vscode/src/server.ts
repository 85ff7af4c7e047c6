/** Which program is the server, and whether it can be run: decided without the editor, so that it can be tested without one. */

import { execFile } from "node:child_process";
import { basename, dirname } from "node:path";

export interface Command {
    command: string;
    args: string[];
    cwd?: string;
}

/**
 * The server of `path` where the user names one, else that of the Python `interpreter`, else whichever is found first.
 *
 * Python looks for modules in the working folder: it is that of the interpreter, never that of the workspace, whose files are
 * read and not run.
 */
export function serverCommand(path: readonly string[], interpreter: string | undefined): Command {
    const [program, ...rest] = path.filter((part) => part.trim() !== "");
    if (program !== undefined) {
        return { command: program, args: [...rest, "server"] };
    }
    if (interpreter) {
        return { command: interpreter, args: ["-m", "kernlint", "server"], cwd: dirname(interpreter) };
    }
    return { command: "kernlint", args: ["server"] };
}

const PROBE = [
    "import importlib.util as util, sys",
    "sys.stdout.write('kernlint ' if util.find_spec('kernlint') else 'nothing ')",
    "sys.stdout.write('lsp' if util.find_spec('pygls') else 'no-lsp')",
].join("\n");

/** What is to be said of an interpreter that cannot run the server; undefined where it can. */
export function complaint(interpreter: string, probed: string | undefined): string | undefined {
    const name = basename(dirname(dirname(interpreter))) || interpreter;
    if (probed === undefined) {
        return `kernlint: the selected Python (${interpreter}) cannot be run`;
    }
    if (!probed.startsWith("kernlint ")) {
        return `kernlint is not installed in the selected Python environment (${name}): pip install 'kernlint[lsp]'`;
    }
    if (!probed.endsWith(" lsp")) {
        return `kernlint in the selected Python environment (${name}) cannot speak to editors: pip install 'kernlint[lsp]'`;
    }
    return undefined;
}

/** What the interpreter says of itself; undefined where it cannot be run. */
export function probe(interpreter: string, timeout = 30_000): Promise<string | undefined> {
    return new Promise((resolve) => {
        execFile(interpreter, ["-c", PROBE], { cwd: dirname(interpreter), timeout }, (error, stdout) => {
            resolve(error ? undefined : stdout.trim());
        });
    });
}
