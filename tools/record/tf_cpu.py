"""Records real TensorFlow profiles on a CPU: tf.data pipelines, Keras, tf.function, eager.

    tf_cpu.py OUT_DIR [NAME ...]

Writes OUT_DIR/NAME/plugins/profile/run1/localhost.xplane.pb.
"""
import glob
import os
import shutil
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

prof = tf.profiler.experimental
JOBS = {}


def job(**opts):
    """Names a program to record, with the profiler's options for it. A program gives what runs
    before the trace (or None) and what runs inside it."""
    def deco(fn):
        JOBS[fn.__name__] = (fn, opts)
        return fn
    return deco


def cnn():
    return tf.keras.Sequential([
        tf.keras.layers.Input((28, 28, 1)),
        tf.keras.layers.Conv2D(16, 3, activation="relu"), tf.keras.layers.MaxPool2D(),
        tf.keras.layers.Conv2D(32, 3, activation="relu"), tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Flatten(), tf.keras.layers.Dropout(.2), tf.keras.layers.Dense(10)])


def pipeline(n=2048, batch=32, slow=0.0, parallel=tf.data.AUTOTUNE, prefetch=True, cache=False, files=None):
    def decode(i):
        i = tf.cast(i, tf.float32)
        x = tf.random.uniform((28, 28, 1)) + i * 0.
        return x, tf.cast(i, tf.int64) % 10
    def augment(x, y):
        if slow:
            time_py = tf.py_function(lambda a: (time.sleep(slow), a)[1], [x], tf.float32); x = tf.reshape(time_py, (28, 28, 1))
        return tf.image.random_flip_left_right(x) * 1.1, y
    d = tf.data.Dataset.range(8).interleave(lambda s: tf.data.Dataset.range(n // 8), cycle_length=4, num_parallel_calls=parallel)
    d = d.map(decode, num_parallel_calls=parallel)
    if cache:
        d = d.cache()
    d = d.shuffle(256).map(augment, num_parallel_calls=parallel).filter(lambda x, y: y >= 0).batch(batch, drop_remainder=True).repeat()
    return d.prefetch(2) if prefetch else d


def tfrecords(dirname, n=600):
    path = os.path.join(dirname, "part-%d.tfrecord")
    for s in range(3):
        with tf.io.TFRecordWriter(path % s) as w:
            for i in range(n // 3):
                img = tf.io.encode_jpeg(np.random.randint(0, 255, (64, 64, 3), np.uint8)).numpy()
                w.write(tf.train.Example(features=tf.train.Features(feature={
                    "img": tf.train.Feature(bytes_list=tf.train.BytesList(value=[img])),
                    "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 10]))})).SerializeToString())
    return [path % s for s in range(3)]


def custom_loop(steps, data, model=None, xla=False):
    model = model or cnn()
    opt = tf.keras.optimizers.Adam()
    lossf = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    opt.build(model.trainable_variables)
    @tf.function(jit_compile=xla)
    def train_step(x, y):
        with tf.GradientTape() as t:
            l = lossf(y, model(x, training=not xla))
        opt.apply_gradients(zip(t.gradient(l, model.trainable_variables), model.trainable_variables))
        return l
    it = iter(data)
    def run():
        for s in range(steps):
            with prof.Trace("train", step_num=s, _r=1):
                train_step(*next(it))
    return (lambda: train_step(*next(it))), run


@job(host_tracer_level=2)
def small_loop():
    """three steps of a small net fed by tf.data: a profile to keep in a repository"""
    w = tf.Variable(tf.ones((16, 4)))
    @tf.function
    def train_step(x):
        w.assign_sub(0.01 * tf.matmul(x, tf.nn.relu(tf.matmul(x, w)), transpose_a=True))
        return tf.reduce_sum(w)
    data = iter(tf.data.Dataset.range(64).map(lambda i: tf.fill((16,), tf.cast(i, tf.float32))).batch(8).repeat().prefetch(1))
    def run():
        for s in range(3):
            with prof.Trace("train", step_num=s, _r=1):
                train_step(next(data))
    return (lambda: train_step(next(data))), run


@job(host_tracer_level=2)
def keras_fit():
    """Keras model.fit, whole epoch inside start/stop"""
    m = cnn(); m.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    d = pipeline()
    return (lambda: m.fit(d, steps_per_epoch=2, epochs=1, verbose=0)), (lambda: m.fit(d, steps_per_epoch=15, epochs=1, verbose=0))


@job(host_tracer_level=2)
def input_bound():
    """custom loop, slow single-threaded python map, no prefetch: input-bound"""
    return custom_loop(10, pipeline(slow=0.002, parallel=None, prefetch=False, batch=8))


@job(host_tracer_level=3)
def compute_bound_l3():
    """custom loop, cached pipeline, host tracer level 3"""
    return custom_loop(10, pipeline(cache=True, batch=64))


@job(host_tracer_level=3, python_tracer_level=1)
def python_tracer():
    return custom_loop(4, pipeline(batch=16))


@job(host_tracer_level=2)
def tfrecord_jpeg():
    """TFRecord files, interleave, parse, decode_jpeg, two pipelines (train and eval)"""
    files = tfrecords(tempfile.mkdtemp())
    spec = {"img": tf.io.FixedLenFeature([], tf.string), "y": tf.io.FixedLenFeature([], tf.int64)}
    def parse(r):
        e = tf.io.parse_single_example(r, spec)
        x = tf.image.decode_jpeg(e["img"], 1)
        return tf.image.resize(tf.cast(x, tf.float32) / 255., (28, 28)), e["y"]
    def ds(): return tf.data.Dataset.from_tensor_slices(files).interleave(tf.data.TFRecordDataset, cycle_length=3, num_parallel_calls=2).map(parse, num_parallel_calls=2).batch(32).repeat().prefetch(1)
    m = cnn(); warm, run = custom_loop(8, ds(), m)
    ev = iter(ds())
    @tf.function
    def evaluate(x): return tf.argmax(m(x), -1)
    def both():
        run()
        for _ in range(3):
            with prof.Trace("eval", step_num=_, _r=1):
                evaluate(next(ev)[0])
    return warm, both


@job(host_tracer_level=2)
def xla_jit():
    """tf.function(jit_compile=True): XLA modules from TensorFlow"""
    m = tf.keras.Sequential([tf.keras.layers.Input((28, 28, 1)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(10)])
    return custom_loop(8, pipeline(batch=32), m, xla=True)


@job(host_tracer_level=2)
def eager_mode():
    """no tf.function at all"""
    a = tf.random.normal((64, 64))
    def run():
        x = a
        for s in range(5):
            with prof.Trace("step", step_num=s, _r=1):
                for _ in range(10):
                    x = tf.nn.relu(tf.matmul(x, a)) * .1
                tf.linalg.svd(x[:16, :16])
    return None, run


@job(host_tracer_level=2)
def tf_functions_retrace():
    """tf.function: traced and not traced calls, retracing, eager run, nested"""
    @tf.function
    def inner(x): return tf.square(x)
    @tf.function
    def retraced(x): return inner(x) + 1
    def run():
        for n in range(1, 7):
            with prof.Trace("train", step_num=n, _r=1):
                retraced(tf.ones((n,)))
        for n in range(5):
            retraced(tf.ones((3,)))
        for n in range(4):
            retraced(n)
        tf.config.run_functions_eagerly(True); retraced(tf.ones((2,))); tf.config.run_functions_eagerly(False)
        @tf.function
        def loop(x):
            for i in tf.range(10):
                x = tf.cond(x[0] > 5., lambda: x * .5, lambda: x + 1.)
            return x
        loop(tf.zeros((4,)))
    return None, run


@job(host_tracer_level=2)
def multi_device_cpu():
    """MirroredStrategy on two logical CPU devices"""
    st = tf.distribute.MirroredStrategy([d.name for d in tf.config.list_logical_devices("CPU")])
    with st.scope():
        m = cnn(); m.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    d = pipeline(batch=32)
    return (lambda: m.fit(d, steps_per_epoch=1, verbose=0)), (lambda: m.fit(d, steps_per_epoch=6, verbose=0))


@job(host_tracer_level=2)
def long_fit():
    m = cnn(); m.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    d = pipeline(batch=64)
    return (lambda: m.fit(d, steps_per_epoch=2, verbose=0)), (lambda: m.fit(d, steps_per_epoch=120, verbose=0))


def record(out, name):
    """Runs one program under the profiler and keeps its profile."""
    fn, opts = JOBS[name]
    warm, run = fn()
    if warm:
        warm()
    folder = tempfile.mkdtemp(prefix="tfprof_")
    prof.start(folder, options=prof.ProfilerOptions(**{"host_tracer_level": 2, "python_tracer_level": 0, "device_tracer_level": 1, **opts}))
    try:
        run()
    finally:
        prof.stop()
    target = os.path.join(out, name, "plugins/profile/run1")
    os.makedirs(target, exist_ok=True)
    shutil.copy(glob.glob(f"{folder}/plugins/profile/*/*.xplane.pb")[0], os.path.join(target, "localhost.xplane.pb"))
    shutil.rmtree(folder)
    print("recorded", name, opts, flush=True)


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    for job_name in sys.argv[2:] or JOBS:
        record(sys.argv[1], job_name)
