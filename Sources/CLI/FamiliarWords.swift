/// Commands and options of curl, wget, aria2, systemctl and docker, with what does the same here.
enum FamiliarWords {
    /// The hint about a command that only other programs have.
    ///
    /// - Parameter path: the commands before it: "nightshift", "nightshift app".
    static func command(_ word: String, after path: String) -> String? {
        path == "nightshift" ? commands[word] : nil
    }

    /// The hint about an option that only other programs have.
    ///
    /// - Parameter path: the commands before it. Options before any command are read as those of a download.
    static func option(_ word: String, of path: String) -> String? {
        switch path {
        case "nightshift", "nightshift get": downloads[word]
        case "nightshift put": uploads[word]
        case "nightshift remove" where ["-f", "--force"].contains(word): endings
        default: nil
        }
    }

    private static let endings =
        "'nightshift cancel ID' ends a transfer, 'nightshift remove ID' removes one that has ended from the list; a "
        + "finished file stays."

    private static let commands: [String: String] = {
        let hints: [([String], String)] = [
            (["rm", "delete", "del", "forget", "purge", "prune", "clean"], endings),
            (["abort", "end"], "'nightshift cancel ID' ends a transfer."),
            (
                ["stop", "kill"],
                "'nightshift pause ID' pauses a transfer, 'nightshift cancel ID' ends it, 'nightshift service stop' stops "
                    + "the service."
            ),
            (
                ["start", "restart"],
                "'nightshift resume ID' continues a paused transfer, 'nightshift retry ID' tries again at once, "
                    + "'nightshift service start' starts the service."
            ),
            (["suspend", "hold"], "'nightshift pause ID' pauses a transfer."),
            (["unpause", "unhold", "continue"], "'nightshift resume ID' continues a paused transfer."),
            (
                ["log", "logs", "history", "events"],
                "'nightshift journal' prints what the service decided and why, 'nightshift app log ID' what an app wrote."
            ),
            (["add", "download", "dl", "fetch", "wget", "curl", "aria2c"], "'nightshift get URL' downloads a file."),
            (["upload", "send", "post"], "'nightshift put FILE URL' uploads a file."),
            (["info", "inspect"], "'nightshift show ID' shows everything about a transfer."),
            (["explain"], "'nightshift why ID' explains why a transfer or an app is in its state."),
            (["ls", "ps"], "'nightshift list' lists transfers; with --all, also those that have ended."),
            (["top", "attach", "follow", "tail", "monitor"], "'nightshift watch' shows transfers while they run."),
            (["enable", "install"], "'nightshift service install' lets systemd start the service."),
            (["disable", "uninstall"], "'nightshift service uninstall' removes the service from systemd."),
            (["run", "exec"], "'nightshift task run -- COMMAND' runs a program as background work."),
            (["version"], "'nightshift --version' prints the version."),
        ]
        return table(hints)
    }()

    private static let downloads: [String: String] = table([
        (
            ["-O", "--remote-name", "--output-document"],
            "Without an option the file gets the name that the server or the URL gives it; -o FILE gives it another one, "
                + "-d DIRECTORY puts it elsewhere."
        ),
        (
            ["-c", "-C", "--continue-at"],
            "No option is needed: a download continues by itself, and the same command again follows the one that is "
                + "under way. --continue ID continues one that 'nightshift cancel --keep' has ended."
        ),
        (["-L", "--location", "--location-trusted"], "No option is needed: redirects are followed."),
        (
            ["-x", "-s", "--split", "--max-connection-per-server"],
            "--connections NUMBER sets how many connections fetch a file, --proxy URL names a proxy, --quiet says only "
                + "what goes wrong."
        ),
        (["-P", "--directory-prefix", "--output-dir", "--dir"], "-d DIRECTORY puts the file there."),
        (["-T", "--upload-file", "-F"], "'nightshift put FILE URL' uploads a file, 'nightshift put --form' a form."),
        (["-b", "--background", "-D", "--daemon"], "--detach returns at once; the service does the rest."),
        (["--silent", "--no-verbose", "-S"], "--quiet says only what goes wrong."),
        (
            ["-v", "--verbose"],
            "'nightshift why ID' explains a transfer, 'nightshift journal --task ID' has every decision about it."
        ),
        (
            ["-t", "--tries", "--retry", "--max-tries"],
            "No option is needed: it is tried again until --timeout, which is 7 days unless given."
        ),
        (["-m", "--max-time"], "--timeout DURATION ends it when it is not whole by then."),
        (["-u", "--http-user"], "--user NAME logs in, and asks for the password."),
        (["-A", "--user-agent", "-U"], "-H 'User-Agent: NAME' sets the field."),
        (["-e", "--referer"], "-H 'Referer: URL' sets the field."),
        (
            ["-k", "--insecure", "--no-check-certificate"],
            "Certificates are always checked. --cacert FILE trusts one that the system does not know."
        ),
        (["-f", "--fail"], "No option is needed: an error of the server fails the download."),
        (["-N", "--timestamping", "--no-clobber"], "A file that exists is never replaced unless --force is given."),
        (["--max-download-limit", "--max-overall-download-limit"], "--limit-rate RATE limits this transfer."),
    ])

    private static let uploads: [String: String] = table([
        (["-T", "--upload-file"], "No option is needed: nightshift put FILE URL."),
        (["-F"], "--form 'name=value' or --form 'name=@file' sends a form."),
        (["-d", "--data", "--data-binary", "--post-file"], "Write it to a file: nightshift put -X POST FILE URL."),
        (["-L", "--location"], "No option is needed: redirects are followed."),
        (["-C", "-c"], "No option is needed: an upload continues by itself where the server can."),
        (["-b", "--background"], "--detach returns at once; the service does the rest."),
        (["-u"], "--user NAME logs in, and asks for the password."),
    ])

    private static func table(_ hints: [([String], String)]) -> [String: String] {
        Dictionary(hints.flatMap { words, hint in words.map { ($0, hint) } }) { first, _ in first }
    }
}
