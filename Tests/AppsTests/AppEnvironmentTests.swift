import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Tests of the environment that apps get from the login session (decision 0023).
@Suite struct AppEnvironmentTests {
    private static let account = AppEnvironment.Account(name: "anna", shell: "/bin/bash")

    /// The environment of an interactive shell that has started the service.
    private static let shell = [
        "HOME": "/home/anna", "USER": "somebody", "LOGNAME": "somebody", "SHELL": "/bin/false", "LANG": "de_DE.UTF-8",
        "LC_TIME": "C", "TZ": "UTC", "PATH": "/home/anna/bin:.:bin::/usr/bin", "DISPLAY": ":0",
        "WAYLAND_DISPLAY": "wayland-0", "XAUTHORITY": "/run/xauth", "XDG_RUNTIME_DIR": "/run/user/1000",
        "XDG_CURRENT_DESKTOP": "GNOME", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus",
        "https_proxy": "http://proxy:3128", "NO_PROXY": "localhost", "NIGHTSHIFT_HOME": "/home/anna/n",
        "NIGHTSHIFT_PROXY": "http://p",
    ]
    private static let secrets = [
        "GITHUB_TOKEN": "secret", "AWS_SECRET_ACCESS_KEY": "secret", "SSH_AUTH_SOCK": "/tmp/ssh-1/agent",
        "SSH_TTY": "x",
        "LD_PRELOAD": "/tmp/x.so", "LD_LIBRARY_PATH": "/tmp", "PYTHONPATH": "/tmp", "VIRTUAL_ENV": "/tmp/venv",
        "TERM": "xterm", "PWD": "/tmp", "OLDPWD": "/", "SHLVL": "2", "_": "/usr/bin/x", "PS1": "$", "EDITOR": "vi",
        "XDG_ACTIVATION_TOKEN": "t", "DESKTOP_STARTUP_ID": "i", "WAYLAND_SOCKET": "7", "BASH_FUNC_x%%": "() { :; }",
        "NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "LISTEN_FDS": "1", "LISTEN_PID": "2",
        "LISTEN_FDNAMES": "a", "INVOCATION_ID": "i", "JOURNAL_STREAM": "8:1", "MANAGERPID": "1",
        "SYSTEMD_EXEC_PID": "1",
        // A service that an app has started has these variables.
        "NIGHTSHIFT_APP": "org.example.Other", "NIGHTSHIFT_WAKE": "sessionEvents", "NIGHTSHIFT_SESSION": "s",
        "NIGHTSHIFT_WAKE_LIMIT": "30", "NIGHTSHIFT_LAUNCH": "background", "NIGHTSHIFT_SOCKET": "/s",
        "NIGHTSHIFT_TASK": "t", "NIGHTSHIFT_PAYLOAD": "/p", "NIGHTSHIFT_STARTED_BY_CLIENT": "1",
    ]

    private func variables(_ service: [String: String], session: [String: String]? = nil) -> [String: String] {
        AppEnvironment(
            service: service, session: session, account: Self.account, homeDirectory: "/home/of/the/account"
        ).variables
    }

    @Test func `L1: Without a systemd user manager apps get only variables of the login and the desktop`() {
        var expected = Self.shell
        expected["USER"] = "anna"
        expected["LOGNAME"] = "anna"
        expected["SHELL"] = "/bin/bash"
        expected["PATH"] = "/home/anna/bin:/usr/bin"
        #expect(variables(Self.shell.merging(Self.secrets) { $1 }) == expected)
        #expect(variables(Self.shell) == expected)
    }

    @Test func `L1: A service that an app has started does not pass on that app's variables`() {
        let first = variables(Self.shell.merging(Self.secrets) { $1 })
        #expect(variables(first) == first)
        #expect(variables(first.merging(["NIGHTSHIFT_WAKE": "x", "NIGHTSHIFT_APP": "y"]) { $1 }) == first)
    }

    @Test func `L1: Apps get the variables of the systemd user manager, and the ones with the service's paths`() {
        let session = [
            "LANG": "en_GB.UTF-8", "PATH": "/usr/local/bin:/usr/bin", "SSH_AUTH_SOCK": "/run/user/1000/keyring/ssh",
            "QT_STYLE": "x", "XDG_RUNTIME_DIR": "/elsewhere", "XDG_STATE_HOME": "/elsewhere", "USER": "anna",
            "INVOCATION_ID": "i", "NOTIFY_SOCKET": "/run/n", "NIGHTSHIFT_APP": "z", "HOME": "/elsewhere",
        ]
        let found = variables(Self.shell.merging(Self.secrets) { $1 }, session: session)
        #expect(
            found == [
                "LANG": "en_GB.UTF-8", "PATH": "/usr/local/bin:/usr/bin", "QT_STYLE": "x", "USER": "anna",
                "LOGNAME": "anna", "SHELL": "/bin/bash", "SSH_AUTH_SOCK": "/run/user/1000/keyring/ssh",
                "XDG_RUNTIME_DIR": "/run/user/1000", "HOME": "/home/anna", "NIGHTSHIFT_HOME": "/home/anna/n",
                "NIGHTSHIFT_PROXY": "http://p",
            ])
    }

    @Test func `B1: An app keeps the session's runtime directory if the service has none of its own`() {
        let found = variables(
            ["HOME": "/home/anna"], session: ["XDG_RUNTIME_DIR": "/run/user/1", "XDG_STATE_HOME": "/x"])
        #expect(found["XDG_RUNTIME_DIR"] == "/run/user/1" && found["XDG_STATE_HOME"] == nil)
    }

    @Test func `B1: A program gets the reasons, sessions and limit of its wakes as variables`() {
        let app = AppID(rawValue: "org.example.app")
        let wakes = [
            WantedWake(app: app, reason: .sessionEvents, key: "a", through: 1),
            WantedWake(app: app, reason: .region, key: "home", through: 2),
            WantedWake(app: app, reason: .challenge, key: "b", through: 3),
        ]
        #expect(
            AppEnvironment.wakeVariables(wakes, declaredLimit: 45) == [
                "NIGHTSHIFT_WAKE": "challenge,region,sessionEvents", "NIGHTSHIFT_SESSION": "a\nb",
                "NIGHTSHIFT_WAKE_LIMIT": "45",
            ])
        #expect(
            AppEnvironment.wakeVariables([wakes[1]], declaredLimit: 45) == [
                "NIGHTSHIFT_WAKE": "region", "NIGHTSHIFT_WAKE_LIMIT": "10",
            ])
        #expect(AppEnvironment.wakeVariables([], declaredLimit: 45) == [:])
    }

    @Test func `R1: A program gets the identifiers of its tasks, but an ordinary fetch has no identifier`() {
        func wake(_ reason: WakeReason, _ key: String) -> WantedWake {
            WantedWake(app: AppID(rawValue: "org.example.app"), reason: reason, key: key, through: 1)
        }
        #expect(
            AppEnvironment.wakeVariables([wake(.fetch, "")], declaredLimit: 45) == [
                "NIGHTSHIFT_WAKE": "fetch", "NIGHTSHIFT_WAKE_LIMIT": "30",
            ])
        #expect(
            AppEnvironment.wakeVariables([wake(.push, "p"), wake(.response, "n")], declaredLimit: 45) == [
                "NIGHTSHIFT_WAKE": "push,response", "NIGHTSHIFT_WAKE_LIMIT": "30",
            ])
        let tasks = [wake(.fetch, "a.refresh"), wake(.processing, "a.clean"), wake(.region, "home")]
        #expect(
            AppEnvironment.wakeVariables(tasks, declaredLimit: 45) == [
                "NIGHTSHIFT_WAKE": "fetch,processing,region", "NIGHTSHIFT_TASK": "a.refresh\na.clean",
                "NIGHTSHIFT_WAKE_LIMIT": "300",
            ])
        // A wake without a limit removes the limit of the whole launch.
        #expect(
            AppEnvironment.wakeVariables(tasks + [wake(.continued, "a.export.1")], declaredLimit: 45) == [
                "NIGHTSHIFT_WAKE": "continued,fetch,processing,region",
                "NIGHTSHIFT_TASK": "a.refresh\na.clean\na.export.1",
            ])
        #expect(variables(["NIGHTSHIFT_TASK": "of the app that has started the service"])["NIGHTSHIFT_TASK"] == nil)
    }

    @Test func `L1: Missing variables are added to a bare environment`() {
        let found = AppEnvironment(service: [:], session: nil, account: nil, homeDirectory: "/root").variables
        #expect(found == ["HOME": "/root", "PATH": AppEnvironment.defaultPath])
        #expect(variables(["PATH": "bin:.", "HOME": "here"])["PATH"] == AppEnvironment.defaultPath)
        #expect(variables(["HOME": "here"])["HOME"] == "/home/of/the/account")
        #expect(AppEnvironment.Account.current?.name.isEmpty == false)
    }
}
