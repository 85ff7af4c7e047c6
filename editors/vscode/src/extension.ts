/** The extension: starts the kernlint of the selected Python environment and hands the editor's wishes on to it. */

import {
    commands,
    type Disposable,
    type Event,
    type ExtensionContext,
    extensions,
    type LogOutputChannel,
    type Uri,
    window,
    workspace,
} from "vscode";
import { LanguageClient, RevealOutputChannelOn, TransportKind } from "vscode-languageclient/node";

import { optionsFrom, wrongReason } from "./options";
import { complaint, probe, serverCommand } from "./server";

/** What is used of the interface of ms-python.python. */
interface PythonEnvironments {
    getActiveEnvironmentPath(resource?: Uri): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: Event<unknown>;
}

let client: LanguageClient | undefined;
let log: LogOutputChannel;
/** Starting and stopping, one after the other. */
let busy: Promise<void> = Promise.resolve();

export async function activate(context: ExtensionContext): Promise<void> {
    log = window.createOutputChannel("kernlint", { log: true });
    const subscriptions: Disposable[] = [
        log,
        commands.registerCommand("kernlint.restart", restart),
        commands.registerCommand("kernlint.showLog", () => log.show()),
        commands.registerCommand("kernlint.askReason", askReason),
        workspace.onDidChangeConfiguration(async (event) => {
            if (event.affectsConfiguration("kernlint.path")) {
                await restart();
            } else if (event.affectsConfiguration("kernlint")) {
                await client?.sendNotification("workspace/didChangeConfiguration", { settings: { kernlint: options() } });
            }
        }),
    ];
    const environments = await pythonEnvironments();
    if (environments !== undefined) {
        subscriptions.push(environments.onDidChangeActiveEnvironmentPath(restart));
    }
    context.subscriptions.push(...subscriptions);
    await restart();
}

export async function deactivate(): Promise<void> {
    await busy;
    await client?.stop();
}

function restart(): Promise<void> {
    busy = busy.then(start).catch((error: unknown) => log.error(String(error)));
    return busy;
}

async function start(): Promise<void> {
    const old = client;
    client = undefined;
    await old?.dispose();
    const path = workspace.getConfiguration("kernlint").get<string[]>("path", []);
    const interpreter = path.length > 0 ? undefined : await selectedInterpreter();
    if (interpreter !== undefined) {
        const wrong = complaint(interpreter, await probe(interpreter));
        if (wrong !== undefined) {
            log.warn(wrong);
            // Who opens Python without Triton in it need not hear of it.
            if (mentionsTriton()) {
                void window.showWarningMessage(wrong);
            }
            return;
        }
    }
    const { command, args, cwd } = serverCommand(path, interpreter);
    log.info(`starting ${[command, ...args].join(" ")}`);
    client = new LanguageClient(
        "kernlint",
        "kernlint",
        { command, args, options: { cwd }, transport: TransportKind.stdio },
        {
            documentSelector: ["file", "untitled"].flatMap((scheme) => [
                { scheme, language: "python" },
                { scheme, language: "markdown" },
            ]),
            initializationOptions: options(),
            outputChannel: log,
            revealOutputChannelOn: RevealOutputChannelOn.Never,
        },
    );
    await client.start();
}

function options() {
    const settings = workspace.getConfiguration("kernlint");
    return optionsFrom((name) => settings.get(name));
}

function mentionsTriton(): boolean {
    return workspace.textDocuments.some((document) => /\btriton\b/.test(document.getText()));
}

async function pythonEnvironments(): Promise<PythonEnvironments | undefined> {
    const python = extensions.getExtension<{ environments?: PythonEnvironments }>("ms-python.python");
    return python === undefined ? undefined : (await python.activate())?.environments;
}

async function selectedInterpreter(): Promise<string | undefined> {
    const environments = await pythonEnvironments();
    if (environments === undefined) {
        return undefined;
    }
    const active = environments.getActiveEnvironmentPath(workspace.workspaceFolders?.[0]?.uri);
    return (await environments.resolveEnvironment(active))?.executable.uri?.fsPath;
}

async function askReason(uri: string, fingerprint: string, code: string): Promise<void> {
    const reason = await window.showInputBox({
        prompt: `Why is ${code} all right here?`,
        placeHolder: "the reason, as it will stand in the comment",
        validateInput: wrongReason,
    });
    if (reason !== undefined && client !== undefined) {
        await client.sendRequest("workspace/executeCommand", {
            command: "kernlint.suppress",
            arguments: [uri, fingerprint, reason.trim()],
        });
    }
}
