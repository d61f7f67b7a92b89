/// A table of commands and options of curl, wget, aria2, systemctl and docker, with their equivalents in nightshift.
enum FamiliarWords {
    /// Returns a hint if another program has the command `word`.
    ///
    /// - Parameter path: the commands before it: "nightshift", "nightshift app".
    static func command(_ word: String, after path: String) -> String? {
        path == "nightshift" ? commands[word] : nil
    }

    /// Returns a hint if another program has the option `word`.
    ///
    /// - Parameter path: the commands before it. Options before any command are treated as those of a download.
    static func option(_ word: String, of path: String) -> String? {
        switch path {
        case "nightshift", "nightshift get": downloads[word]
        case "nightshift put": uploads[word]
        case "nightshift remove" where ["-f", "--force"].contains(word): endings
        default: nil
        }
    }

    private static let endings =
        "'nightshift cancel ID' ends a transfer. 'nightshift remove ID' removes a transfer that has ended from the list; "
        + "its file stays."

    private static let commands: [String: String] = {
        let hints: [([String], String)] = [
            (["rm", "delete", "del", "forget", "purge", "prune", "clean"], endings),
            (["abort", "end"], "'nightshift cancel ID' ends a transfer."),
            (
                ["stop", "kill"],
                "'nightshift pause ID' pauses a transfer, 'nightshift cancel ID' ends it, and 'nightshift service stop' "
                    + "stops the service."
            ),
            (
                ["start", "restart"],
                "'nightshift resume ID' continues a paused transfer, 'nightshift retry ID' retries a transfer at once, "
                    + "and 'nightshift service start' starts the service."
            ),
            (["suspend", "hold"], "'nightshift pause ID' pauses a transfer."),
            (["unpause", "unhold", "continue"], "'nightshift resume ID' continues a paused transfer."),
            (
                ["log", "logs", "history", "events"],
                "'nightshift journal' prints what the service decided and why. 'nightshift app log ID' prints the output "
                    + "of an app."
            ),
            (["add", "download", "dl", "fetch", "wget", "curl", "aria2c"], "'nightshift get URL' downloads a file."),
            (["upload", "send", "post"], "'nightshift put FILE URL' uploads a file."),
            (["info", "inspect"], "'nightshift show ID' shows everything about a transfer."),
            (["explain"], "'nightshift why ID' explains why a transfer or an app is in its state."),
            (["ls", "ps"], "'nightshift list' lists transfers. With --all it also lists those that have ended."),
            (["top", "attach", "follow", "tail", "monitor"], "'nightshift watch' shows transfers while they run."),
            (["enable", "install"], "'nightshift service install' installs systemd units that start the service."),
            (["disable", "uninstall"], "'nightshift service uninstall' removes the systemd units of the service."),
            (["run", "exec"], "'nightshift task run -- COMMAND' runs a program as background work."),
            (["version"], "'nightshift --version' prints the version."),
        ]
        return table(hints)
    }()

    private static let downloads: [String: String] = table([
        (
            ["-O", "--remote-name", "--output-document"],
            "Without an option the file gets its name from the server or the URL. -o FILE gives it another name, and "
                + "-d DIRECTORY writes it to another directory."
        ),
        (
            ["-c", "-C", "--continue-at"],
            "No option is needed: the service continues an interrupted download. To follow a running download, run the "
                + "same command again. --continue ID continues one that you ended with 'nightshift cancel --keep'."
        ),
        (["-L", "--location", "--location-trusted"], "No option is needed: redirects are followed."),
        (
            ["-x", "-s", "--split", "--max-connection-per-server"],
            "--connections NUMBER sets the number of connections for a file, --proxy URL sets a proxy, and --quiet "
                + "prints only errors."
        ),
        (["-P", "--directory-prefix", "--output-dir", "--dir"], "-d DIRECTORY writes the file to that directory."),
        (
            ["-T", "--upload-file", "-F"],
            "'nightshift put FILE URL' uploads a file, and 'nightshift put --form FIELD URL' uploads a form."
        ),
        (
            ["-b", "--background", "-D", "--daemon"],
            "--detach returns as soon as the service has accepted the transfer."
        ),
        (["--silent", "--no-verbose", "-S"], "--quiet prints only errors."),
        (
            ["-v", "--verbose"],
            "'nightshift why ID' explains the state of a transfer, and 'nightshift journal --task ID' prints every "
                + "decision about it."
        ),
        (
            ["-t", "--tries", "--retry", "--max-tries"],
            "No option is needed: the service retries until the time of --timeout is over. The default is 7 days."
        ),
        (["-m", "--max-time"], "--timeout DURATION makes the transfer fail if it has not completed by then."),
        (["-u", "--http-user"], "--user NAME sends this user name, and asks you for the password."),
        (["-A", "--user-agent", "-U"], "-H 'User-Agent: NAME' sets this header field."),
        (["-e", "--referer"], "-H 'Referer: URL' sets this header field."),
        (
            ["-k", "--insecure", "--no-check-certificate"],
            "Certificates are always checked. --cacert FILE trusts a certificate that the system does not know."
        ),
        (["-f", "--fail"], "No option is needed: the download fails if the server answers with an error."),
        (["-N", "--timestamping", "--no-clobber"], "An existing file is replaced only if you add --force."),
        (["--max-download-limit", "--max-overall-download-limit"], "--limit-rate RATE limits this transfer."),
    ])

    private static let uploads: [String: String] = table([
        (["-T", "--upload-file"], "No option is needed. Type: nightshift put FILE URL"),
        (["-F"], "--form 'name=value' or --form 'name=@file' sends a form."),
        (
            ["-d", "--data", "--data-binary", "--post-file"],
            "Write the data to a file, and send it with: nightshift put -X POST FILE URL"
        ),
        (["-L", "--location"], "No option is needed: redirects are followed."),
        (["-C", "-c"], "No option is needed: an upload continues automatically if the server supports it."),
        (["-b", "--background"], "--detach returns as soon as the service has accepted the transfer."),
        (["-u"], "--user NAME sends this user name, and asks you for the password."),
    ])

    private static func table(_ hints: [([String], String)]) -> [String: String] {
        Dictionary(hints.flatMap { words, hint in words.map { ($0, hint) } }) { first, _ in first }
    }
}
