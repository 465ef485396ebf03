"""tools/fetch_ui.py: takes exactly the pinned files, refuses anything else, and asks for nothing when they are there."""
import hashlib
import importlib.util
import io
import pathlib
import tarfile
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_fetch_ui():
    spec = importlib.util.spec_from_file_location('fetch_ui', ROOT / 'tools' / 'fetch_ui.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FetchUi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.fetch_ui = load_fetch_ui()
        self.fetch_ui.DIST = self.folder / 'dist'
        self.wheel = self.folder / 'made.whl'

    def make_wheel(self, files):
        with zipfile.ZipFile(self.wheel, 'w') as archive:
            for name, content in files.items():
                archive.writestr('xprof/static/' + name, content)

    def manifest(self, files):
        pin = lambda name, content: self.fetch_ui.Pin(hashlib.sha256(content).hexdigest(), len(content), name)
        return self.fetch_ui.Manifest(
            'made==1', 'any', pin('made.whl', self.wheel.read_bytes()), [pin(*item) for item in files.items()]
        )

    def test_takes_only_what_the_manifest_names(self):
        self.make_wheel({'index.html': b'<html>', 'other.js': b'0'})
        manifest = self.manifest({'index.html': b'<html>'})
        self.assertFalse(self.fetch_ui.is_laid(manifest.files))
        self.fetch_ui.lay(self.wheel, manifest)
        self.assertEqual([path.name for path in self.fetch_ui.DIST.iterdir()], ['index.html'])
        self.assertTrue(self.fetch_ui.is_laid(manifest.files))

    def test_refuses_a_changed_wheel(self):
        self.make_wheel({'index.html': b'<html>'})
        manifest = self.manifest({'index.html': b'<html>'})
        self.wheel.write_bytes(self.wheel.read_bytes() + b'!')
        with self.assertRaises(SystemExit):
            self.fetch_ui.lay(self.wheel, manifest)
        self.assertFalse(self.fetch_ui.DIST.exists())

    def test_refuses_a_changed_file_and_writes_none(self):
        self.make_wheel({'a.js': b'good', 'b.js': b'changed'})
        manifest = self.manifest({'a.js': b'good', 'b.js': b'expects'})
        with self.assertRaises(SystemExit):
            self.fetch_ui.lay(self.wheel, manifest)
        self.assertFalse(self.fetch_ui.DIST.exists())

    def test_notices_a_damaged_file(self):
        self.make_wheel({'a.js': b'good'})
        manifest = self.manifest({'a.js': b'good'})
        self.fetch_ui.lay(self.wheel, manifest)
        (self.fetch_ui.DIST / 'a.js').write_bytes(b'goof')
        self.assertFalse(self.fetch_ui.is_laid(manifest.files))

    def test_takes_graphviz_out_of_its_tarball(self):
        tarball = self.folder / 'made.tgz'
        with tarfile.open(tarball, 'w:gz') as archive:
            member = tarfile.TarInfo('package/dist/viz.js')
            member.size = 3
            archive.addfile(member, io.BytesIO(b'viz'))
        pin = lambda name, content: self.fetch_ui.Pin(hashlib.sha256(content).hexdigest(), len(content), name)
        self.make_wheel({})
        manifest = self.manifest({})._replace(
            tarball=pin('made.tgz', tarball.read_bytes()), members=[('package/dist/viz.js', pin('viz.js', b'viz'))]
        )
        self.fetch_ui.lay_members(tarball, manifest)
        self.assertEqual((self.fetch_ui.DIST / 'viz.js').read_bytes(), b'viz')
        tarball.write_bytes(tarball.read_bytes() + b'!')
        with self.assertRaises(SystemExit):
            self.fetch_ui.lay_members(tarball, manifest)

    def test_the_manifest_pins_the_whole_interface(self):
        manifest = self.fetch_ui.read_manifest(ROOT / 'ui' / 'manifest')
        self.assertEqual(manifest.requirement, 'xprof==2.23.2')
        self.assertIn('manylinux', manifest.wheel.name)
        self.assertEqual(len({pin.name for pin in manifest.files}), 11)
        self.assertEqual([place for place, _ in manifest.members], ['package/dist/viz.js'])
        pins = manifest.files + [manifest.tarball] + [pin for _, pin in manifest.members]
        self.assertTrue(all(len(pin.sha256) == 64 and pin.size > 0 for pin in pins))


if __name__ == '__main__':
    unittest.main()
