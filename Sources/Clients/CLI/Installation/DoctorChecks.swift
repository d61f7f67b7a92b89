import CDispatch  // Without this import, the compiler attributes stat(2) to CDispatch where that is loaded.
import Foundation
import NightshiftAPI
import NightshiftClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The checks of `nightshift doctor`. The checks change nothing.
struct DoctorChecks: Sendable {
    var invocation: Invocation

    func findings() async -> [Finding] {
        let (status, service) = await checkService()
        let socket = URL(filePath: invocation.service.launcher.socket)
        var findings = [checkPrograms(status), service]
        if let status {
            findings += [checkDatabase(status), checkFileSystems(status), await checkTransfers()]
            findings += await checkRows()
            findings += await checkDevice()
            findings.append(await checkRefresh())
            findings.append(await checkLocation())
            findings.append(await checkPush())
        }
        findings += [
            checkPrivacy("state", of: invocation.paths.state, mode: 0o700),
            checkPrivacy("runtime", of: socket.deletingLastPathComponent(), mode: 0o700),
            checkPrivacy("socket", of: socket, mode: 0o600),
            checkSpace(), checkSystemd(), checkLinger(), checkProxy(status), checkTrust(),
            CurlFacts.ofThisProcess.finding,
            Self.checkYielding(timestamps: KernelFile.text("/proc/sys/net/ipv4/tcp_timestamps")),
            checkClock(),
        ]
        return findings
    }

    private func checkPrograms(_ status: ServiceStatus?) -> Finding {
        let search = invocation.service.launcher.search
        guard let daemon = search.daemon else {
            return .fail(
                "programs", "nightshiftd was not found",
                advice: "Install it in the directory of nightshift, or in a directory of PATH.")
        }
        if let status, status.version != NightshiftVersion.current {
            return .warn(
                "programs",
                "nightshift has version \(NightshiftVersion.current), the running service \(status.version)",
                advice: "Restart it with: nightshift service stop; nightshift service start")
        }
        return .ok("programs", "version \(NightshiftVersion.current), service program \(daemon)")
    }

    private func checkService() async -> (ServiceStatus?, Finding) {
        let service = invocation.service
        guard !invocation.systemdListens else {
            return (nil, checkStart("systemd starts it for the first command that needs it"))
        }
        switch ServiceSocket.state(of: service.launcher.socket) {
        case .silent:
            if let holder = service.launcher.location.holder {
                return (nil, .fail("service", ServiceLauncher.unreachable(holder, at: service.launcher.socket)))
            }
            return (nil, checkStart("it starts with the first command that needs it"))
        case .refused(ENAMETOOLONG):
            let socket = service.launcher.socket
            return (
                nil,
                .fail(
                    "service",
                    "its socket's path has \(socket.utf8.count) bytes, more than the kernel allows "
                        + "(\(ServiceLocation.longestPath)): \(socket)",
                    advice: "Set XDG_RUNTIME_DIR or NIGHTSHIFT_HOME to a directory with a shorter path.")
            )
        case .refused(let code):
            return (
                nil,
                .fail(
                    "service", "\(service.launcher.socket): \(String(cString: strerror(code)))",
                    advice: "Check the owner and the permissions of the socket and its directory.")
            )
        case .foreign(let objection):
            return (nil, .fail("service", "other users could use its socket", advice: objection))
        case .accepting:
            do {
                let status = try await service.client.send(.status)
                return (status, .ok("service", "runs as process \(status.processID)"))
            } catch {
                let log = service.launcher.paths.log.path(percentEncoded: false)
                return (
                    nil, .fail("service", "it accepts connections but does not respond", advice: "See its log: \(log)")
                )
            }
        }
    }

    /// Checks whether a service that does not run could start.
    private func checkStart(_ howItStarts: String) -> Finding {
        let launcher = invocation.service.launcher
        if let daemon = launcher.search.daemon,
            let reason = ServiceCheck.failure(of: daemon, environment: launcher.environment)
        {
            return .fail("service", "cannot start: \(reason)")
        }
        for unit in invocation.hasDefaultHome ? [UserManager.service, UserManager.socket] : [] {
            guard let state = invocation.userManager.state(of: unit), state.isLoaded, state.hasFailed else { continue }
            return .fail(
                "service", "does not run, because \(unit) failed (\(state.result), status \(state.exitStatus))",
                advice: "See why with: journalctl --user -u \(UserManager.service). Then run: nightshift service start")
        }
        return .ok("service", "does not run; \(howItStarts)")
    }

    private func checkDatabase(_ status: ServiceStatus) -> Finding {
        let count = status.tasks.values.reduce(0, +)
        let transfers = "\(count) \(count == 1 ? "transfer" : "transfers")"
        return .ok("database", "readable, \(transfers), last journal entry \(status.lastJournalEntry)")
    }

    private func checkPrivacy(_ name: String, of url: URL, mode: mode_t) -> Finding {
        let path = url.path(percentEncoded: false)
        var information = stat()
        guard stat(path, &information) == 0 else {
            if errno == ENOENT { return .ok(name, "\(path) does not exist yet") }
            return .fail(name, "\(path): \(String(cString: strerror(errno)))")
        }
        let advice = "Make yourself the owner with chown, and run: chmod \(String(mode, radix: 8)) \(path)"
        guard information.st_uid == geteuid() else {
            return .fail(name, "\(path) belongs to another user", advice: advice)
        }
        guard information.st_mode & 0o077 == 0 else {
            return .fail(name, "other users have access to \(path)", advice: advice)
        }
        guard access(path, W_OK) == 0 else { return .fail(name, "\(path) is not writable", advice: advice) }
        return .ok(name, path)
    }

    private func checkSpace() -> Finding {
        // If the directory does not exist yet, its nearest existing ancestor is on the same file system.
        var url = invocation.paths.state
        var information = statvfs()
        while statvfs(url.path(percentEncoded: false), &information) != 0, url.pathComponents.count > 1 {
            url.deleteLastPathComponent()
        }
        let free = Int64(saturating: Double(information.f_bavail) * Double(information.f_frsize))
        let words = "\(QuantityText.size(free)) free"
        if free < 64 << 20 {
            return .fail("space", words, advice: "Free some space: the service stores its state on this file system.")
        }
        if free < 1 << 30 { return .warn("space", words, advice: "Large transfers will wait for free space.") }
        return .ok("space", words)
    }

    private func checkSystemd() -> Finding {
        let manager = invocation.userManager
        guard manager.isRunning, let socket = manager.state(of: UserManager.socket) else {
            return .ok("systemd", "the systemd user manager is not running; commands start the service")
        }
        let install = "Run: nightshift service install"
        guard socket.isLoaded else {
            return .warn(
                "systemd",
                socket.loadState == "masked"
                    ? "runs, but \(UserManager.socket) is masked"
                    : "runs, but the units of the service are not installed",
                advice: socket.loadState == "masked"
                    ? "To use it, run: systemctl --user unmask \(UserManager.socket) \(UserManager.service)" : install)
        }
        if let directory = invocation.installedUnits, let copy = invocation.copiedUnits.first {
            return .warn(
                "systemd",
                "\(copy.path(percentEncoded: false)) hides the installed unit in \(directory.path(percentEncoded: false)), "
                    + "so upgrades of the unit have no effect",
                advice: install)
        }
        guard socket.isActive else {
            return .warn("systemd", "runs, but does not listen for the service", advice: install)
        }
        if invocation.hasDefaultHome, invocation.service.launcher.location.holder != nil,
            manager.state(of: UserManager.service)?.isActive == false
        {
            return .warn(
                "systemd", "runs, but the service was started without it",
                advice: "To let systemd take over, run: systemctl --user start \(UserManager.service)")
        }
        return .ok("systemd", "starts the service on demand")
    }

    private func checkLinger() -> Finding {
        let manager = invocation.userManager
        guard manager.isRunning else { return .ok("linger", "not needed without systemd") }
        guard manager.endsAtLogout else { return .ok("linger", "the service continues when you log out") }
        return .warn(
            "linger", "the service stops when you log out, and starts again at the next login",
            advice: "To keep it running, run: loginctl enable-linger")
    }

    /// Checks the proxies of this environment and of the service. The result names only the variables, because their
    /// values may contain passwords.
    private func checkProxy(_ status: ServiceStatus?) -> Finding {
        let variables = ProxyVariables(invocation.environment)
        for url in ["http://example.org/", "https://example.org/"] {
            guard let choice = variables.choice(for: url), let flaw = ProxyAddress.flaw(of: choice.proxy) else {
                continue
            }
            return .warn(
                "proxy", "the proxy in the variable \(choice.variable) cannot be used", advice: flaw)
        }
        var parts: [String] = []
        if variables.hasProxy { parts.append("from \(variables.names.joined(separator: ", "))") }
        if let names = status?.proxyVariables, !names.isEmpty {
            parts.append("in the service from \(names.joined(separator: ", "))")
        }
        return .ok("proxy", parts.isEmpty ? "none set" : parts.joined(separator: "; "))
    }

    private func checkTrust() -> Finding {
        // The service trusts the certificates that are built into its libcurl. Variables such as SSL_CERT_FILE have no
        // effect on it.
        let places = [
            CurlFacts.certificates, "/etc/ssl/certs/ca-certificates.crt",
            "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
        ].compactMap { $0 }
        if let place = places.first(where: { FileManager.default.isReadableFile(atPath: $0) }) {
            return .ok("certificates", place)
        }
        return .warn(
            "certificates", "no certificate store was found, so https will fail",
            advice: "Install the package ca-certificates.")
    }

    private func checkClock() -> Finding {
        // The release date of this version. If the clock is earlier, certificates appear to be not valid yet.
        let now = invocation.now()
        guard now.timeIntervalSince1970 > 1_790_000_000 else {
            return .fail(
                "clock", "it shows \(invocation.times.absolute(now)), which is in the past",
                advice: "Set the clock. With this date, valid certificates are refused as not yet valid.")
        }
        return .ok("clock", invocation.times.absolute(now))
    }
}
