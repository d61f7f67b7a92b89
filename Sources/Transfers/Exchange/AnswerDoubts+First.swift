import NightshiftAPI
import Store

/// First answers, of which nothing is known but the name that the file is to have.
extension AnswerDoubts {
    /// Pages that come instead of a file of another kind until one is taken for the file, the first included.
    package static let enoughPages = 2

    /// The decision about a page that is the first answer to a download.
    ///
    /// While the network wants a log-in no page is believed. Otherwise one is doubted where the name says that the file is none: a
    /// later look can tell.
    ///
    /// - Returns: nil where it is to be believed, else what to keep in mind, and why, for a person.
    static func firstDoubt(
        _ head: ResponseHead, _ policy: ResponsePolicy
    ) -> (doubt: AnswerDoubt, failure: TransferFailure)? {
        guard (200...299).contains(head.status), head.status != 206, head.method == "GET", isPage(head.mediaType),
            !policy.asksConditionally
        else { return nil }
        guard policy.isBehindPortal || contradictsName(head, policy) else { return nil }
        let fingerprint = "first \(head.status) page"
        let known = policy.firstDoubt?.fingerprint == fingerprint ? policy.firstDoubt?.times ?? 0 : 0
        // What a mirror says does not count for the file's own server, nor what comes while the network is closed.
        let times = policy.isBehindPortal || !policy.asksOwnURL ? known : known + 1
        guard policy.isBehindPortal || times < enoughPages else { return nil }
        return (AnswerDoubt(fingerprint: fingerprint, times: times), firstFailure(head, policy))
    }

    /// Whether a page is the answer where the name says that the file is none.
    static func contradictsName(_ head: ResponseHead, _ policy: ResponsePolicy) -> Bool {
        isPage(head.mediaType) && policy.expectedName.map(namesNoPage) ?? false
    }

    /// Whether files of this name are never pages.
    static func namesNoPage(_ name: String) -> Bool {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return false }
        return endings.contains(name[name.index(after: dot)...].lowercased())
    }

    private static func firstFailure(_ head: ResponseHead, _ policy: ResponsePolicy) -> TransferFailure {
        let size = head.contentLength.map { " of \($0) bytes" } ?? ""
        let wanted = contradictsName(head, policy) ? policy.expectedName.map { " instead of \($0)" } ?? "" : ""
        let next =
            policy.isBehindPortal
            ? "The network wants somebody to log in, so the page may be its log-in page. It is asked again after that."
            : "It is asked again later; if a page comes then as well, it is saved."
        return TransferFailure(
            .resourceChanged, "The server answered with a web page\(size)\(wanted). \(next)", status: head.status)
    }

    /// Of archives, images of disks, packages, documents, pictures, sound, video, fonts and data.
    private static let endings: Set<String> = [
        "7z", "apk", "appimage", "avi", "avif", "bin", "bz2", "csv", "deb", "dmg", "doc", "docx", "epub", "exe", "flac",
        "flatpak", "gif", "gz", "heic", "img", "ipa", "iso", "jar", "jpeg", "jpg", "json", "lz4", "m4a", "m4v", "mkv",
        "mov", "mp3", "mp4", "mpg", "msi", "odp", "ods", "odt", "ogg", "ogv", "opus", "otf", "parquet", "pdf", "pkg",
        "png", "ppt", "pptx", "qcow2", "rar", "rpm", "sig", "snap", "sqlite", "tar", "tgz", "tif", "tiff", "torrent",
        "ttf", "txz", "vdi", "vmdk", "wav", "webm", "webp", "whl", "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
    ]
}
