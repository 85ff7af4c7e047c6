/** The editor's settings as the server wants them. */

export interface Options {
    device?: string;
    select?: string[];
    extendSelect?: string[];
    ignore?: string[];
    codeLens: boolean;
    asksForReason: true;
}

/** `get` reads one setting of the section `kernlint`; what is not set is left out, so that configuration files count. */
export function optionsFrom(get: (name: string) => unknown): Options {
    const options: Options = { codeLens: get("codeLens") !== false, asksForReason: true };
    const device = get("device");
    if (typeof device === "string" && device.trim() !== "") {
        options.device = device.trim();
    }
    for (const name of ["select", "extendSelect", "ignore"] as const) {
        const found = texts(get(name));
        if (found.length > 0) {
            options[name] = found;
        }
    }
    return options;
}

function texts(value: unknown): string[] {
    return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string" && item.trim() !== "") : [];
}

/** What is wrong with the reason of a suppression; undefined where nothing is. */
export function wrongReason(reason: string): string | undefined {
    if (reason.trim() === "") {
        return "A suppression needs a reason: who reads it next should know whether it still holds.";
    }
    return /[\r\n]/.test(reason) ? "One line, please." : undefined;
}
