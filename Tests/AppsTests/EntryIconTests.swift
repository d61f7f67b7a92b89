import Apps
import NightshiftAPI
import Testing

/// The icon of an entry, which its notifications show.
@Suite struct EntryIconTests {
    @Test(arguments: [
        ("Icon=org.example.App", "org.example.App"), ("Icon=/opt/app/icon.png", "/opt/app/icon.png"), ("Icon=", nil),
        ("Comment=none", nil),
    ])
    func `An icon is a name of the icon theme or a path`(line: String, icon: String?) throws {
        let manifest = try AppManifest(
            parsing: "[Desktop Entry]\nType=Application\nName=App\nExec=app\n\(line)\n",
            id: AppID(rawValue: "org.example.App"), path: "/somewhere/org.example.App.desktop")
        #expect(manifest.icon == icon)
    }
}
