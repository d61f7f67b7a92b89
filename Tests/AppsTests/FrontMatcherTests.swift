import Apps
import NightshiftAPI
import Testing

/// Tests of which app a window belongs to, and which app the user is using according to windows (decision 0038).
@Suite struct FrontMatcherTests {
    private static let entries = [
        FrontEntry(id: AppID(rawValue: "org.example.Photos"), speaksOfBackground: true),
        FrontEntry(id: AppID(rawValue: "org.example.Mail"), windowClass: "Mailer", program: "/usr/bin/mail"),
        FrontEntry(id: AppID(rawValue: "firefox-esr"), windowClass: "firefox-esr", program: "/usr/lib/firefox"),
        FrontEntry(id: AppID(rawValue: "debian-xterm"), windowClass: "XTerm", program: "/usr/bin/xterm"),
        FrontEntry(id: AppID(rawValue: "text-editor")),
        // Several entries match; at most one of them has background keys.
        FrontEntry(id: AppID(rawValue: "a"), windowClass: "Browser", program: "/usr/bin/browser"),
        FrontEntry(id: AppID(rawValue: "b"), windowClass: "Browser", program: "/usr/bin/browser"),
        FrontEntry(id: AppID(rawValue: "c"), windowClass: "Player", program: "/usr/bin/player"),
        FrontEntry(
            id: AppID(rawValue: "d"), windowClass: "Player", program: "/usr/bin/player", speaksOfBackground: true),
        FrontEntry(id: AppID(rawValue: "e"), windowClass: "org.example.Photos"),
    ]

    private static func app(_ name: String) -> AppID { AppID(rawValue: name) }

    @Test(
        arguments: [
            // These reports contain the id of the entry, as Wayland's app_id or as a window class.
            (FrontApplication(applicationID: "org.example.Photos"), "org.example.Photos"),
            (FrontApplication(windowClasses: ["org.example.Photos", "Photos"]), "org.example.Photos"),
            (FrontApplication(applicationID: "text-editor", windowClasses: ["x", "Mailer"]), "text-editor"),
            // These reports contain StartupWMClass, also on Wayland.
            (FrontApplication(applicationID: "Mailer"), "org.example.Mail"),
            (FrontApplication(applicationID: "org.other", windowClasses: ["mail", "Mailer"]), "org.example.Mail"),
            // These window classes contain capitals and spaces.
            (FrontApplication(windowClasses: ["ORG.example.photos", "x"]), "org.example.Photos"),
            (FrontApplication(windowClasses: ["x", "Text Editor"]), "text-editor"),
            (FrontApplication(windowClasses: ["Navigator", "Firefox-esr"]), "firefox-esr"),
            (FrontApplication(windowClasses: ["xterm", "xterm"]), "debian-xterm"),
            // Among several matching entries, the one with background keys is chosen.
            (FrontApplication(windowClasses: ["x", "Player"]), "d"), (FrontApplication(applicationID: "Browser"), nil),
            (FrontApplication(), nil), (FrontApplication(applicationID: "", windowClasses: [""]), nil),
            (FrontApplication(applicationID: "org.example"), nil), (FrontApplication(processID: 7), nil),
        ] as [(FrontApplication, String?)])
    func `L8: The service finds the app of a window by the window's names`(window: FrontApplication, app: String?) {
        #expect(FrontMatcher(entries: Self.entries).app(of: window)?.rawValue == app)
        #expect(FrontMatcher(entries: Self.entries.reversed()).app(of: window)?.rawValue == app, "in any order")
    }

    @Test(
        arguments: [
            // The window's own process decides, whatever the window's names are.
            (FrontProcess(app: app("org.example.Script")), "xterm", "org.example.Script"),
            // The app that has started the process is used if no name matches.
            (FrontProcess(starter: app("org.example.Script")), "xterm", "debian-xterm"),
            (FrontProcess(starter: app("org.example.Script")), "unknown", "org.example.Script"),
            (FrontProcess(starter: app("org.example.Script"), program: "/usr/bin/mail"), "x", "org.example.Script"),
            // The process's program is the last criterion.
            (FrontProcess(program: "/usr/bin/mail"), "unknown", "org.example.Mail"),
            (FrontProcess(program: "/usr/bin/mail"), "xterm", "debian-xterm"),
            (FrontProcess(program: "/usr/bin/browser"), "x", nil), (FrontProcess(program: "/usr/bin/player"), "x", "d"),
            (FrontProcess(program: "/usr/bin/else"), "x", nil),
        ] as [(FrontProcess, String, String?)])
    func `L8: The service finds the app of a window by the window's process`(
        process: FrontProcess, name: String, app: String?
    ) {
        let window = FrontApplication(windowClasses: [name, name], processID: 7)
        #expect(FrontMatcher(entries: Self.entries).app(of: window, process: process)?.rawValue == app)
    }

    // MARK: - Use

    @Test func `L8: Each use of an app begins and ends once, in any sequence of changes`() {
        let (one, two) = (Self.app("one"), Self.app("two"))
        var use = FrontUse()
        func update(_ front: AppID?, hasStates: Bool = false, isUserAway: Bool = false) -> [FrontUse.Change] {
            use.update(front: front, hasStates: hasStates, isUserAway: isUserAway)
        }
        func began(_ app: AppID) -> FrontUse.Change { FrontUse.Change(app: app, isInFront: true) }
        func ended(_ app: AppID) -> FrontUse.Change { FrontUse.Change(app: app, isInFront: false) }
        let steps: [([FrontUse.Change], [FrontUse.Change])] = [
            (update(nil), []), (update(one), [began(one)]), (update(one), []), (update(two), [ended(one), began(two)]),
            // The user is away.
            (update(two, isUserAway: true), [ended(two)]), (update(one, isUserAway: true), []),
            (update(one), [began(one)]),
            // From here on the app's states report its use.
            (update(one, hasStates: true), [ended(one)]), (update(one, hasStates: true), []),
            (update(nil), []), (update(two, hasStates: true), []), (update(two), [began(two)]),
            (update(nil), [ended(two)]),
        ]
        for (index, (changes, expected)) in steps.enumerated() { #expect(changes == expected, "step \(index)") }
        #expect(use.app == nil)
    }
}
